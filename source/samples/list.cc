// SPDX-License-Identifier: Apache-2.0
// The samples that a folder, a list or an archive holds.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "plumb/tool/file.h"
#include "plumb/tool/many.h"
#include "tensor/npz_rows.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

bool IsHidden(const fs::path& path) { return path.filename().string().rfind('.', 0) == 0; }

Result<std::vector<fs::path>> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!IsHidden(at->path())) entries.push_back(at->path());
  }
  if (error) return Status::IoError(fmt::format("'{}' cannot be listed: {}", folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

Result<std::vector<Sample>> SamplesOfFolder(const std::string& folder) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<fs::path> entries, EntriesOf(folder));
  std::vector<Sample> samples;
  for (const fs::path& entry : entries) {
    Sample sample;
    sample.name = entry.filename().string();
    std::error_code error;
    if (!fs::is_directory(entry, error)) {
      sample.files = {entry.string()};
    } else {
      PLUMB_ASSIGN_OR_RETURN(const std::vector<fs::path> inputs, EntriesOf(entry));
      for (const fs::path& input : inputs) sample.files.push_back(input.stem().string() + "=" + input.string());
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<Sample>> SamplesOfList(const std::string& list) {
  PLUMB_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(list));
  std::vector<Sample> samples;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    samples.push_back({line, {(fs::path(list).parent_path() / line).string()}, {}, {}});
  }
  return samples;
}

Result<std::vector<Sample>> SamplesOfArchive(const std::string& path, int64_t batch) {
  PLUMB_ASSIGN_OR_RETURN(NpzRows opened, NpzRows::Open(path));
  const auto rows = std::make_shared<const NpzRows>(std::move(opened));
  int64_t count = -1;
  for (const NpzRows::Array& array : rows->arrays()) {
    const int64_t length = array.shape.rank() == 0 ? 0 : array.shape[0];
    if (length == 0 || length % batch != 0) {
      return Status::InvalidArgument(
          fmt::format("{}: expected a first axis of samples, {} in each, found array '{}' of the shape {}", path, batch,
                      array.name, array.shape.ToString()));
    }
    if (count >= 0 && length / batch != count) {
      return Status::InvalidArgument(
          fmt::format("{}: expected as many samples in each array, found {} in '{}' and {} in "
                      "'{}'",
                      path, count, rows->arrays()[0].name, length / batch, array.name));
    }
    count = length / batch;
  }
  std::vector<Sample> samples(static_cast<size_t>(std::max<int64_t>(count, 0)));
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].name = std::to_string(i);
    samples[i].load = [rows, i, batch]() -> Result<std::map<std::string, Tensor>> {
      std::map<std::string, Tensor> values;
      for (const NpzRows::Array& array : rows->arrays()) {
        PLUMB_ASSIGN_OR_RETURN(values[array.name], rows->Read(array, static_cast<int64_t>(i) * batch, batch));
      }
      return values;
    };
  }
  return samples;
}

}  // namespace

Result<std::vector<Sample>> ListSamples(const std::string& path, int64_t batch) {
  std::error_code error;
  const std::string suffix = fs::path(path).extension().string();
  Result<std::vector<Sample>> samples = std::vector<Sample>();
  if (fs::is_directory(path, error)) {
    samples = SamplesOfFolder(path);
  } else if (suffix == ".npz") {
    samples = SamplesOfArchive(path, batch);
  } else if (suffix == ".txt") {
    samples = SamplesOfList(path);
  } else if (!fs::exists(path, error)) {
    return Status::NotFound(fmt::format("'{}' does not exist", path));
  } else {
    return Status::InvalidArgument(
        fmt::format("'{}': expected samples as a folder, a .txt of paths or a .npz, found another file", path));
  }
  if (samples.ok() && samples->empty()) return Status::InvalidArgument(fmt::format("'{}' holds no samples", path));
  return samples;
}

}  // namespace plumb
