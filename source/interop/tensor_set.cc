// SPDX-License-Identifier: Apache-2.0
#include "interop/tensor_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "dump/file_name.h"
#include "dump/folder.h"
#include "dump/reader.h"
#include "interop/foreign_formats.h"
#include "interop/safetensors.h"
#include "tensor/npy.h"
#include "tensor/unpacked_limit.h"
#include "tensor/zip.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxUnpacked = uint64_t{1} << 36;  // of all members of an .npz together

bool EndsWithAny(const std::string& text, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return EndsWith(text, end); });
}

Status RefusePickle(const std::string& path) {
  if (!EndsWithAny(path, {".pkl", ".pickle", ".pt", ".pth"})) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("'{}' is a pickle; reading one can run its writer's code, so it is refused. Save the tensors with "
                  "numpy.savez, or with plumb_golden.dump",
                  path));
}

// Beside a raw file: input_ref_data.json.
bool IsDescription(const std::string& path) {
  std::error_code error;
  for (const char* ending : {".dat", ".bmrt", ".bin", ".raw"}) {
    if (fs::exists(fs::path(path).replace_extension(ending), error)) return true;
  }
  return false;
}

bool IsTensorFile(const std::string& name) {
  return EndsWithAny(name, {".npy", ".npz", ".txt", ".npy.zst", ".txt.zst"});
}

std::string WithoutEnding(std::string name) {
  for (const char* end : {".zst", ".npy", ".txt"}) {
    if (EndsWith(name, end)) name.resize(name.size() - std::string(end).size());
  }
  return name;
}

std::string Count(size_t count) { return std::to_string(count) + (count == 1 ? " tensor" : " tensors"); }

}  // namespace

Result<TensorSet> TensorSet::Open(const std::string& path, const TensorSetOptions& options) {
  TensorSet set;
  set.path_ = path;
  std::error_code error;
  if (!fs::exists(path, error)) return Status::NotFound(fmt::format("there is no file or folder '{}'", path));
  PLUMB_ASSIGN_OR_RETURN(const bool foreign, set.OpenForeign());
  if (foreign) {
    set.description_ += ", " + Count(set.tensors_.size());
  } else if (fs::is_directory(path, error)) {
    PLUMB_RETURN_IF_ERROR(set.OpenFolder());
  } else {
    PLUMB_RETURN_IF_ERROR(set.OpenFile(path, options));
    set.description_ = "file, " + Count(set.tensors_.size());
  }
  if (set.tensors_.empty()) return Status::InvalidArgument(fmt::format("'{}' holds no tensor", path));
  PLUMB_RETURN_IF_ERROR(set.CheckNames());
  return set;
}

Result<TensorSet> TensorSet::Of(const std::vector<NamedTensor>& tensors) {
  TensorSet set;
  set.path_ = "in memory";
  set.description_ = "in memory, " + Count(tensors.size());
  for (const NamedTensor& named : tensors) {
    StoredTensor stored;
    stored.name = named.name;
    stored.origin = "memory";
    stored.load = [tensor = named.tensor]() -> Result<Tensor> { return tensor; };
    set.tensors_.push_back(std::move(stored));
  }
  if (set.tensors_.empty()) return Status::InvalidArgument("there is no tensor in memory");
  PLUMB_RETURN_IF_ERROR(set.CheckNames());
  return set;
}

Result<bool> TensorSet::OpenForeign() {
  PLUMB_ASSIGN_OR_RETURN(const ForeignPlace place, ListForeignPlace(path_));
  if (place.Has(kManifestName) || IsCutOff(path_)) return false;
  for (const auto read : {ReadCoreAi, ReadTensorProtos, ReadOpenVino, ReadMsprobe, ReadQnn, RefuseConverted}) {
    PLUMB_ASSIGN_OR_RETURN(std::optional<ForeignTensors> found, read(place));
    if (!found) continue;
    description_ = found->description;
    tensors_ = std::move(found->tensors);
    return true;
  }
  return false;
}

Status TensorSet::OpenFolder() {
  const auto reader = DumpReader::Open(path_);
  if (!reader.ok() && reader.status().code() != StatusCode::kNotFound) return reader.status();
  if (reader.ok()) PLUMB_RETURN_IF_ERROR(OpenDump());
  if (!reader.ok() || !reader->has_manifest()) PLUMB_RETURN_IF_ERROR(OpenPlainFolder(reader.ok()));
  description_ += (description_.empty() ? "folder, " : ", ") + Count(tensors_.size());
  if (reader.ok() && !reader->manifest().complete) {
    const auto& errors = reader->manifest().errors;
    description_ += ", INCOMPLETE" + (errors.empty() ? "" : ": " + errors[0]);
  }
  if (left_out_.empty()) return Status::Ok();
  std::string text = fmt::format(
      "{} raw files are left out, because nobody says their shape and they are no values of four bytes ({}{}): name "
      "them like conv1-dims-1-64-112-112.raw, "
      "or write a {} (doc/dump_format.md)",
      left_out_.size(), left_out_[0], left_out_.size() > 1 ? ", ..." : "", kManifestName);
  if (tensors_.empty()) return Status::InvalidArgument(fmt::format("'{}' holds no tensor; {}", path_, text));
  description_ += "; " + text;
  return Status::Ok();
}

// One tensor per blob: what the layer wrote; for network inputs, what the first layer read.
Status TensorSet::OpenDump() {
  PLUMB_ASSIGN_OR_RETURN(const DumpReader reader, DumpReader::Open(path_));
  std::set<std::string> constants;
  for (const DumpedBlob& blob : reader.manifest().files) {
    if (blob.constant) constants.insert(blob.place.blob);
  }
  std::map<std::string, size_t> taken;
  for (const bool output : {true, false}) {
    for (const DumpEntry& entry : reader.entries()) {
      if (entry.place.output != output) continue;
      std::vector<StoredTensor>& tensors = constants.count(entry.place.blob) != 0 ? constants_ : tensors_;
      if (!taken.emplace(entry.place.blob, tensors.size()).second) continue;
      tensors.push_back({entry.place.blob, entry.path, entry.shape.rank() > 0 || reader.has_manifest(),
                         entry.dtype.has_value(), !entry.dtype && IsRawName(entry.path),
                         [entry] { return DumpReader::Load(entry); }, !output || !entry.has_direction});
      tensors.back().numerics = entry.numerics;
      tensors.back().stands_for = entry.stands_for;
      tensors.back().order = entry.order;
      tensors.back().integers = entry.integers;
    }
  }
  const Manifest& m = reader.manifest();
  model_ = m.model;
  probe_ = m.probe;
  channels_first_ = m.order == "NCHW";
  may_be_half_ = m.precision == "NORMAL" || m.precision == "LOW";
  for (const std::string& name : m.io_files) {
    if (!EndsWith(name, ".dat")) continue;
    TensorSet io;
    PLUMB_RETURN_IF_ERROR(io.OpenRaw(fmt::format("{}/{}", path_, name), {}));
    for (StoredTensor& tensor : io.tensors_) {
      if (taken.emplace(tensor.name, tensors_.size()).second) tensors_.push_back(std::move(tensor));
    }
  }
  if (!reader.has_manifest()) {
    description_ = "dump with TNN's file names";
  } else {
    description_ = (m.device.empty() ? "dump by hand" : "dump of " + m.device) +
                   (m.device_description.empty() ? "" : fmt::format(" ({})", m.device_description));
  }
  return Status::Ok();
}

Status TensorSet::OpenPlainFolder(bool beside_dump) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return Status::IoError(fmt::format("cannot list '{}': {}", path_, error.message()));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", path_, name);
    PLUMB_RETURN_IF_ERROR(RefusePickle(path));
    if (ParseTnnFileName(name)) continue;                                           // of the dump
    if (beside_dump && EndsWithAny(name, {".txt", ".txt.zst", ".json"})) continue;  // somebody's notes
    const auto named = ParseNamedShape(name);
    if (EndsWith(name, ".npz")) {
      PLUMB_RETURN_IF_ERROR(OpenNpz(path));
    } else if (EndsWith(name, ".json") && !IsDescription(path)) {
      PLUMB_RETURN_IF_ERROR(OpenPolygraphy(path));
    } else if (named && !EndsWithAny(name, {".txt", ".txt.zst"})) {
      OpenNamedShape(path, named->blob, named->shape);
    } else if (IsTensorFile(name)) {
      PLUMB_RETURN_IF_ERROR(OpenWhole(path, WithoutEnding(name)));
    } else if (IsRawName(name) && fs::exists(fs::path(path).replace_extension(".json"), error)) {
      PLUMB_RETURN_IF_ERROR(OpenRaw(path, {}));
    } else if (EndsWith(name, ".safetensors")) {
      PLUMB_RETURN_IF_ERROR(OpenSafetensors(path));
    } else if (IsRawName(name)) {
      PLUMB_RETURN_IF_ERROR(OpenPlainRaw(path, name));
    }
  }
  if (!tensors_.empty() || !left_out_.empty()) return Status::Ok();
  return Status::NotFound(
      fmt::format("folder '{}' holds no tensors: neither {} nor .npy, .npz or .txt files, nor files named like "
                  "conv1-dims-1-64-112-112.raw (doc/subjects.md)",
                  path_, kManifestName));
}

Status TensorSet::OpenFile(const std::string& path, const TensorSetOptions& options) {
  PLUMB_RETURN_IF_ERROR(RefusePickle(path));
  if (EndsWith(path, ".npz")) return OpenNpz(path);
  if (EndsWith(path, ".safetensors")) return OpenSafetensors(path);
  if (IsRawName(path)) return OpenRaw(path, options);
  if (!EndsWith(path, ".json")) return OpenWhole(path, "");
  return OpenPolygraphy(path);
}

Status TensorSet::OpenSafetensors(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<StoredTensor> tensors, ListSafetensors(path));
  for (StoredTensor& tensor : tensors) tensors_.push_back(std::move(tensor));
  return Status::Ok();
}

// Nobody says the shape: values of four bytes, for the blob of the file's name where that has as many.
Status TensorSet::OpenPlainRaw(const std::string& path, const std::string& name) {
  constexpr uint64_t kBytes = 4;
  PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(path));
  if (file.size() == 0 || file.size() % kBytes != 0) return left_out_.push_back(name), Status::Ok();
  std::string own = name;
  for (const char* end : {".bmrt", ".raw", ".bin", ".dat"}) {
    if (EndsWith(own, end)) own.resize(own.size() - std::string(end).size());
  }
  const auto count = static_cast<int64_t>(file.size() / kBytes);
  tensors_.push_back({own, path, false, false, true, [path, count]() -> Result<Tensor> {
                        TensorHints hints;
                        hints.shape = Shape{count};
                        PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ReadTensors(path, hints));
                        return read.front().tensor;
                      }});
  return Status::Ok();
}

Status TensorSet::OpenPolygraphy(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, ParsePolygraphy(bytes.text(), path));
  for (const NamedTensor& named : tensors) {
    tensors_.push_back(
        {named.name, path, true, true, false, [tensor = named.tensor]() -> Result<Tensor> { return tensor; }});
  }
  return Status::Ok();
}

Status TensorSet::OpenRaw(const std::string& path, const TensorSetOptions& options) {
  std::vector<TensorSpec> specs = options.specs;
  std::string beside = fs::path(path).replace_extension(".json").string();
  std::error_code error;
  if (EndsWith(path, ".dat.bmrt") && !fs::exists(beside, error))
    beside = fs::path(path).replace_extension().replace_extension(".json").string();
  if (specs.empty() && fs::exists(beside, error)) {
    PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(beside));
    PLUMB_ASSIGN_OR_RETURN(specs, ParseIoDescription(bytes.text(), beside));
  }
  if (specs.empty()) {
    return Status::InvalidArgument(
        fmt::format("'{}' holds nothing but values: say what they are with PairingOptions::tensors NAME=1,3,224,224 "
                    "(NAME=i32:1,10 for another dtype than f32), in the file's order",
                    path));
  }
  PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(path));
  uint64_t offset = 0;
  for (const TensorSpec& spec : specs) {
    PLUMB_RETURN_IF_ERROR(spec.shape.Validate().AddContext(fmt::format("raw file '{}', tensor '{}'", path, spec.name)));
    const uint64_t size = static_cast<uint64_t>(spec.shape.NumElements()) * DTypeSize(spec.dtype);
    tensors_.push_back({spec.name, path, true, true, false, [file, path, spec, offset, size]() -> Result<Tensor> {
                          TensorHints hints;
                          hints.dtype = spec.dtype;
                          hints.shape = spec.shape;
                          PLUMB_ASSIGN_OR_RETURN(const FileBytes values, file.Piece(offset, size));
                          PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read,
                                                 ParseTensors(values.text(), path + ".raw", hints));
                          return read.front().tensor;
                        }});
    offset += size;
  }
  if (offset == file.size()) return Status::Ok();
  return Status::Mismatch(
      fmt::format("raw file '{}' has {} bytes, but its {} take {}", path, file.size(), Count(specs.size()), offset));
}

Status TensorSet::OpenNpz(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(path));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ZipMember> members,
                         ListZip(file, path, UnpackedLimit(file.size(), kMaxUnpacked)));
  for (const ZipMember& member : members) {
    tensors_.push_back({WithoutEnding(member.name), path, true, true, false, [file, path, member]() -> Result<Tensor> {
                          ZipMember copy = member;
                          PLUMB_ASSIGN_OR_RETURN(const FileBytes stored, file.Piece(member.begin, member.stored_size));
                          copy.stored = stored.text();
                          std::string buffer;
                          PLUMB_ASSIGN_OR_RETURN(const std::string_view npy, UnpackZipMember(copy, path, &buffer));
                          return ParseNpy(npy, fmt::format("{}#{}", path, member.name));
                        }});
  }
  return Status::Ok();
}

// A file of one tensor is read when it is needed; TNN's text form holds several, so it is looked into now.
Status TensorSet::OpenWhole(const std::string& path, const std::string& name) {
  if (!EndsWithAny(path, {".txt", ".txt.zst"})) {
    const std::string own = name.empty() ? WithoutEnding(fs::path(path).filename().string()) : name;
    tensors_.push_back({own, path, true, true, false, [path]() -> Result<Tensor> {
                          PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ReadTensors(path));
                          return read.front().tensor;
                        }});
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ReadTensors(path));
  for (const NamedTensor& named : read) {
    const bool plain = named.name.empty();
    const std::string own = !plain         ? named.name
                            : name.empty() ? WithoutEnding(fs::path(path).filename().string())
                                           : name;
    tensors_.push_back(
        {own, path, !plain, !plain, false, [tensor = named.tensor]() -> Result<Tensor> { return tensor; }});
  }
  return Status::Ok();
}

// Of a folder by hand: the file's name says blob and shape.
void TensorSet::OpenNamedShape(const std::string& path, const std::string& name, const Shape& shape) {
  DumpEntry entry;
  entry.place.blob = name;
  entry.shape = shape;
  entry.path = path;
  const bool raw = IsRawName(path);
  tensors_.push_back({name, path, true, !raw, raw, [entry] { return DumpReader::Load(entry); }});
}

Status TensorSet::CheckNames() const {
  std::set<std::string> names;
  for (const StoredTensor& tensor : tensors_) {
    if (!names.insert(tensor.name).second) {
      return Status::CorruptModel(fmt::format("'{}' holds two tensors '{}'", path_, tensor.name));
    }
  }
  return Status::Ok();
}

}  // namespace plumb
