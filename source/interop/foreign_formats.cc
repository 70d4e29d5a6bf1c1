// SPDX-License-Identifier: Apache-2.0
// What the readers of foreign formats share, and the formats that are only recognised here.
#include "interop/foreign_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// The file header of SQLite (sqlite.org/fileformat.html, 1.3), and the file identifier of ExecuTorch's flatbuffer
// (executorch/devtools/etdump/etdump_schema_flatcc.fbs), which stands behind the file's size and the root's place.
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr std::string_view kEtDumpMagic = "ED00";

Status RefuseFile(const std::string& path, const FileSource& file) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes head, file.Piece(0, std::min<size_t>(file.size(), 64)));
  const std::string_view bytes = head.text();
  std::string what;
  if (bytes.substr(0, kSqliteMagic.size()) == kSqliteMagic)
    what = "an SQLite database (ONNX Runtime's debug node dump)";
  if (bytes.size() >= 12 && (bytes.substr(8, 4) == kEtDumpMagic || bytes.substr(4, 4) == kEtDumpMagic))
    what = "an ETDump of ExecuTorch";
  if (what.empty()) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("'{}' is {}, which plumb-golden makes a dump folder of: plumb-golden read {} -o dump; then give that "
                  "folder",
                  path, what, path));
}

}  // namespace

bool ForeignPlace::Has(const std::string& name) const { return std::binary_search(names.begin(), names.end(), name); }

std::vector<std::string> ForeignPlace::Ending(std::string_view ending) const {
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found),
               [&](const std::string& name) { return EndsWith(name, ending); });
  return found;
}

Result<ForeignPlace> ListForeignPlace(const std::string& path) {
  ForeignPlace place;
  place.path = path;
  while (place.path.size() > 1 && place.path.back() == '/') place.path.pop_back();
  std::error_code error;
  place.is_folder = fs::is_directory(path, error);
  if (!place.is_folder) return place;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    place.names.push_back(it->path().filename().string());
  }
  if (error) return Status::IoError(fmt::format("cannot list '{}': {}", path, error.message()));
  std::sort(place.names.begin(), place.names.end());
  return place;
}

ForeignRead RefuseConverted(const ForeignPlace& place) {
  std::error_code error;
  if (fs::is_regular_file(place.path, error)) {  // a pipe is read once, by whoever takes it
    PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(place.path));
    PLUMB_RETURN_IF_ERROR(RefuseFile(place.path, file));
  }
  for (const char* ending : {".db", ".etdp", ".etdump"}) {
    for (const std::string& name : place.Ending(ending)) {
      const auto file = OpenSource(place.In(name));
      if (file.ok()) PLUMB_RETURN_IF_ERROR(RefuseFile(place.In(name), *file));
    }
  }
  return ForeignRead(std::nullopt);
}

Result<std::string> PathInside(const std::string& folder, const std::string& name, const std::string& where) {
  const fs::path file(name);
  const bool out = file.is_absolute() || std::find(file.begin(), file.end(), "..") != file.end();
  if (!out && !name.empty() && name.find('\0') == std::string::npos) return folder + "/" + name;
  return Status::CorruptModel(
      fmt::format("{}: expected the name of a file in the folder '{}', found '{}'", where, folder, name));
}

Result<std::vector<int64_t>> NumbersOfJson(const FileJson& json, const std::string& where) {
  std::vector<int64_t> numbers;
  bool fits = json.is_array();
  for (size_t i = 0; fits && i < json.size(); ++i) {
    fits = json[i].is_number_integer();
    if (fits) numbers.push_back(json[i].get<int64_t>());
  }
  if (fits) return numbers;
  return Status::CorruptModel(where + ": expected a list of whole numbers");
}

Result<Shape> ShapeOfJson(const FileJson& json, const std::string& where) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> dims, NumbersOfJson(json, where));
  Shape shape(std::move(dims));
  PLUMB_RETURN_IF_ERROR(shape.Validate().AddContext(where));
  return shape;
}

Result<Tensor> ReadDescribed(const std::string& path, const Shape& shape, const std::string& description) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ReadTensors(path));
  if (read.front().tensor.shape() == shape) return read.front().tensor;
  return Status::Mismatch(fmt::format("'{}' has the shape {}, {} says {}", path, read.front().tensor.shape().ToString(),
                                      description, shape.ToString()));
}

std::string AndPassedOver(size_t count, const char* what) {
  return count == 0 ? "" : fmt::format(", {} {} passed over", count, what);
}

}  // namespace plumb
