// SPDX-License-Identifier: Apache-2.0
#include "dump/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/file.h"
#include "dump/blob_file.h"
#include "dump/checksum.h"
#include "dump/file_name.h"
#include "dump/folder.h"
#include "plumb/tensor_file.h"
#include "tensor/npy.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

bool ComesBefore(const DumpEntry& a, const DumpEntry& b) {
  auto key = [](const DumpEntry& e) {
    return std::tie(e.place.layer_index, e.place.layer, e.place.output, e.place.slot, e.place.blob);
  };
  return key(a) < key(b);
}

// TNN prints floats with nine decimals and integers without a point, so a text of whole numbers is integers.
bool HasOnlyIntegers(std::string_view text) {
  return text.find_first_not_of("0123456789+- \t\r\n") == std::string_view::npos;
}

Result<Tensor> LoadUnknown(const DumpEntry& entry, const FileBytes& bytes) {
  std::string_view values = bytes.text();
  std::string name = entry.path, unpacked;
  if (name.size() > 4 && name.substr(name.size() - 4) == ".zst") {
    PLUMB_ASSIGN_OR_RETURN(unpacked, UnpackBlobFile(values, entry.path, entry.shape));
    values = unpacked;
    name.resize(name.size() - 4);
  }
  if (IsRawName(name)) return ParseRawOfUnknownType(values, entry.path, entry.shape);
  if (fs::path(name).extension() == ".npy") {
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, ParseNpy(values, entry.path));
    return ParseBlobFile(values, name, tensor.dtype(), entry.shape);
  }
  return ParseBlobFile(values, name, HasOnlyIntegers(values) ? DType::kI64 : DType::kF32, entry.shape);
}

}  // namespace

Result<DumpReader> DumpReader::Open(const std::string& folder) {
  DumpReader reader;
  reader.folder_ = folder;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Status::NotFound(fmt::format("'{}' is no folder", folder));
  reader.has_manifest_ = fs::exists(fs::path(folder) / kManifestName, error);
  if (!reader.has_manifest_ && IsCutOff(folder)) {
    return Status::CorruptModel(
        fmt::format("the dump in '{0}' was cut off: '{1}.part' is there, which its writer renames to {1} at the end; "
                    "make the dump again, or remove that file to judge what is there",
                    folder, kManifestName));
  }
  PLUMB_RETURN_IF_ERROR(reader.has_manifest_ ? reader.ListManifest() : reader.ListNames());
  std::sort(reader.entries_.begin(), reader.entries_.end(), ComesBefore);
  return reader;
}

Status DumpReader::ListManifest() {
  PLUMB_ASSIGN_OR_RETURN(manifest_, ReadManifest(fmt::format("{}/{}", folder_, kManifestName)));
  for (const DumpedBlob& blob : manifest_.files) {
    DumpEntry entry;
    entry.place = blob.place;
    entry.has_direction = blob.has_direction;
    entry.dtype = blob.dtype;
    entry.shape = blob.shape;
    if (!blob.file.empty()) entry.path = fmt::format("{}/{}", folder_, blob.file);
    entry.checksum = blob.checksum;
    entry.numerics = blob.numerics;
    entry.stands_for = blob.stands_for;
    entry.order = blob.order;
    entry.integers = blob.integers;
    entries_.push_back(std::move(entry));
  }
  return Status::Ok();
}

Status DumpReader::ListNames() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const auto name = ParseTnnFileName(it->path().filename().string());
    if (!name) continue;
    DumpEntry entry;
    entry.place = {name->layer_index, name->layer, "", name->output, name->slot, name->blob};
    entry.shape = name->shape;
    entry.path = it->path().string();
    entries_.push_back(std::move(entry));
  }
  if (error) return Status::IoError(fmt::format("cannot list '{}': {}", folder_, error.message()));
  if (!entries_.empty()) return Status::Ok();
  return Status::NotFound(fmt::format(
      "folder '{}' holds no dump: neither {} nor files named like 00000-conv1-out-0-blob-dims-1-64-112-112.txt",
      folder_, kManifestName));
}

Result<Tensor> ParseRawOfUnknownType(std::string_view bytes, const std::string& path, const Shape& shape) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64, DType::kU8}) {
    const uint64_t size = static_cast<uint64_t>(shape.NumElements()) * DTypeSize(dtype);
    if (size == bytes.size()) return ParseBlobFile(bytes, path + ".raw", dtype, shape);
  }
  return Status::CorruptModel(
      fmt::format("raw file '{}' has {} bytes; the {} values {} of its name take 1, 2, 4 or 8 bytes each", path,
                  bytes.size(), shape.NumElements(), shape.ToString()));
}

Result<Tensor> DumpReader::Load(const DumpEntry& entry) {
  if (entry.path.empty()) {
    return Status::NotFound(
        fmt::format("blob '{}' has statistics only (DUMP_BLOB_STATS=1), no values", entry.place.blob));
  }
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(entry.path));
  if (!entry.dtype) return LoadUnknown(entry, bytes);
  if (!entry.checksum.empty() && ChecksumOf(bytes.data(), bytes.size()) != entry.checksum) {
    return Status::CorruptModel(
        fmt::format("'{}' is not the file that was dumped: its XXH64 is {}, the manifest says {}", entry.path,
                    ChecksumOf(bytes.data(), bytes.size()), entry.checksum));
  }
  return ParseBlobFile(bytes.text(), entry.path, *entry.dtype, entry.shape);
}

}  // namespace plumb
