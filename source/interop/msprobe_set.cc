// SPDX-License-Identifier: Apache-2.0
// msprobe's dump (Ascend's mindstudio-probe, PrecisionDebugger with "task": "tensor"): dump.json and beside it
// dump_tensor_data/*.pt (PyTorch) or *.npy (MindSpore), in step0/rank0 or step0/proc1234 of the dump_path.
//
// Format: msprobe/core/dump/data_dump/json_writer.py and data_processor/*.py of PyPI's mindstudio-probe 26.2.0, and its
// user guide: {"task", "framework", "data": {OPERATOR: {"input_args": [...], "output": [...], "parameters": {...}}}};
// each tensor is an object with type, dtype, shape and data_name, the file. Module.<path>.<Class>.forward.<call> is a
// module's call. A .pt file is a zip archive whose data/0 holds the values, which msprobe makes contiguous before
// (save_tensor); the pickle beside them is never looked into: dtype and shape are dump.json's.
#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <regex>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "interop/foreign_bytes.h"
#include "interop/foreign_formats.h"
#include "plumb/tensor_file.h"
#include "tensor/unpacked_limit.h"
#include "tensor/zip.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using MsprobeJson = FileJson;

constexpr const char* kMsprobeFile = "dump.json";
constexpr const char* kMsprobeData = "dump_tensor_data";
constexpr uint64_t kMaxTorchFile = uint64_t{1} << 36;
constexpr int kMsprobeDepth = 8;  // of lists and tuples in arguments

const std::map<std::string, DType> kMsprobeTypes = {
    {"float32", DType::kF32}, {"float16", DType::kF16}, {"bfloat16", DType::kBF16}, {"float64", DType::kF64},
    {"int8", DType::kI8},     {"uint8", DType::kU8},    {"int16", DType::kI16},     {"int32", DType::kI32},
    {"int64", DType::kI64},   {"bool", DType::kBool}};

struct MsprobeTensor {
  std::string path, name;
  DType dtype = DType::kF32;
  Shape shape;
};

}  // namespace

Result<Tensor> ParseTorchArchive(std::string_view bytes, const std::string& path, DType dtype, const Shape& shape) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ZipMember> members,
                         ListZip(bytes, path, UnpackedLimit(bytes.size(), kMaxTorchFile)));
  const ZipMember* storage = nullptr;
  size_t storages = 0;
  for (const ZipMember& member : members) {
    std::string buffer;
    if (EndsWith(member.name, "/byteorder")) {
      PLUMB_ASSIGN_OR_RETURN(const std::string_view order, UnpackZipMember(member, path, &buffer));
      if (order != "little") return Status::NotSupported(fmt::format("'{}' is big-endian", path));
    }
    if (member.name.find("/data/") == std::string::npos) continue;
    ++storages;
    if (EndsWith(member.name, "/data/0")) storage = &member;
  }
  if (storage == nullptr || storages != 1) {
    return Status::CorruptModel(
        fmt::format("'{}': expected what torch.save writes of one tensor, with one data/0, "
                    "found {} storages",
                    path, storages));
  }
  const uint64_t expected = static_cast<uint64_t>(shape.NumElements()) * DTypeSize(dtype);
  if (storage->size != expected) {
    return Status::Mismatch(fmt::format("'{}' holds {} bytes of values, {} says {} {}, which takes {}", path,
                                        storage->size, kMsprobeFile, DTypeName(dtype), shape.ToString(), expected));
  }
  std::string buffer;
  PLUMB_ASSIGN_OR_RETURN(const std::string_view values, UnpackZipMember(*storage, path, &buffer));
  TensorHints hints;
  hints.dtype = dtype;
  hints.shape = shape;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ParseTensors(values, path + ".raw", hints));
  return read.front().tensor;
}

namespace {

Result<Tensor> LoadMsprobe(const MsprobeTensor& tensor) {
  if (EndsWith(tensor.path, ".npy")) return ReadDescribed(tensor.path, tensor.shape, kMsprobeFile);
  PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(tensor.path));
  return ParseTorchArchive(file.text(), tensor.path, tensor.dtype, tensor.shape);
}

class MsprobeReader {
 public:
  MsprobeReader(std::string json_path, std::string folder)
      : json_path_(std::move(json_path)), folder_(std::move(folder)) {}

  Status Add(const std::string& op, const MsprobeJson& entry) {
    if (!entry.is_object() || op.find(".backward.") != std::string::npos) return Status::Ok();
    for (const bool input : {false, true}) {
      const auto values = entry.find(input ? "input_args" : "output");
      slot_ = 0;
      if (values != entry.end()) PLUMB_RETURN_IF_ERROR(Walk(op, *values, input, 0));
    }
    return Status::Ok();
  }
  ForeignTensors found;
  size_t without_values = 0;

 private:
  Status Walk(const std::string& op, const MsprobeJson& value, bool input, int depth) {
    if (depth > kMsprobeDepth) {
      return Status::CorruptModel(
          fmt::format("'{}': '{}' is nested deeper than {} lists", json_path_, op, kMsprobeDepth));
    }
    if (value.is_array()) {
      for (const MsprobeJson& item : value) PLUMB_RETURN_IF_ERROR(Walk(op, item, input, depth + 1));
      return Status::Ok();
    }
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape")) return Status::Ok();
    if (value.contains("data_name")) return AddTensor(op, value, input);
    ++without_values;
    ++slot_;
    return Status::Ok();
  }

  Status AddTensor(const std::string& op, const MsprobeJson& value, bool input) {
    const std::string where = fmt::format("'{}': '{}'", json_path_, op);
    if (!value["data_name"].is_string() || !value["dtype"].is_string()) {
      return Status::CorruptModel(where + ": expected data_name and dtype as strings");
    }
    MsprobeTensor tensor;
    const std::string file = value["data_name"].get<std::string>(), type = value["dtype"].get<std::string>();
    const auto dtype = kMsprobeTypes.find(Lower(type.substr(type.rfind('.') + 1)));
    if (dtype == kMsprobeTypes.end()) {
      return Status::CorruptModel(fmt::format("{}: '{}' has the dtype '{}', which Plumb has not", where, file, type));
    }
    tensor.dtype = dtype->second;
    PLUMB_ASSIGN_OR_RETURN(tensor.shape, ShapeOfJson(value["shape"], where + ", shape"));
    PLUMB_ASSIGN_OR_RETURN(tensor.path, PathInside(folder_, file, where));
    const int slot = slot_++;
    if (!names_.emplace(file, slot).second) return Status::Ok();
    StoredTensor stored;
    stored.name = fs::path(file).stem().string();
    stored.origin = tensor.path;
    stored.load = [tensor] { return LoadMsprobe(tensor); };
    static const std::regex module("Module\\.(.+)\\.[A-Za-z0-9_]+\\.forward\\.0");
    std::smatch match;
    if (op.size() < 1000 && std::regex_match(op, match, module)) stored.layer = match[1];
    stored.slot = slot;
    stored.is_read = input;
    found.tensors.push_back(std::move(stored));
    return Status::Ok();
  }

  std::string json_path_, folder_;
  std::map<std::string, int> names_;
  int slot_ = 0;
};

// The folder of dump.json: itself, or the only step and rank below; empty: none.
Result<std::string> MsprobeFolder(const ForeignPlace& place, int depth) {
  if (place.Has(kMsprobeFile)) return place.path;
  static const std::regex level("(step|rank|proc)[0-9]*");
  std::vector<std::string> below;
  for (const std::string& name : place.names) {
    if (std::regex_match(name, level)) below.push_back(name);
  }
  if (below.empty() || depth == 2) return std::string();
  if (below.size() > 1) {
    return Status::InvalidArgument(
        fmt::format("'{}' holds {} dumps of msprobe; name one: {}/{}", place.path, below.size(), place.path, below[0]));
  }
  PLUMB_ASSIGN_OR_RETURN(const ForeignPlace inner, ListForeignPlace(place.In(below[0])));
  return MsprobeFolder(inner, depth + 1);
}

}  // namespace

ForeignRead ReadMsprobe(const ForeignPlace& place) {
  std::string folder;
  if (place.is_folder) {
    PLUMB_ASSIGN_OR_RETURN(folder, MsprobeFolder(place, 0));
  } else if (fs::path(place.path).filename() == kMsprobeFile) {
    folder = fs::path(place.path).parent_path().string();
    if (folder.empty()) folder = ".";
  }
  if (folder.empty()) return ForeignRead(std::nullopt);
  const std::string path = folder + "/" + kMsprobeFile;
  std::error_code error;
  const bool surely = fs::is_directory(folder + "/" + kMsprobeData, error);
  const auto bytes = ReadFile(path, uint64_t{1} << 32);
  if (!bytes.ok()) return surely ? ForeignRead(bytes.status()) : ForeignRead(std::nullopt);
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(bytes->text(), path));
  const MsprobeJson json = MsprobeJson::parse(bytes->text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_object()) {
    if (!surely) return ForeignRead(std::nullopt);
    return Status::CorruptModel(fmt::format("'{}' {}, expected msprobe's dump with an object 'data'", path,
                                            json.is_discarded() ? "is no JSON" : "has no object 'data'"));
  }
  MsprobeReader reader(path, folder + "/" + kMsprobeData);
  for (const auto& [op, entry] : json["data"].items()) PLUMB_RETURN_IF_ERROR(reader.Add(op, entry));
  if (reader.found.tensors.empty()) {
    return Status::InvalidArgument(fmt::format(
        "msprobe's '{}' holds no tensor values{}: dump with \"task\": \"tensor\"", path,
        reader.without_values > 0 ? fmt::format(", only statistics of {} tensors", reader.without_values) : ""));
  }
  reader.found.description = "msprobe's dump" + AndPassedOver(reader.without_values, "tensors without values");
  return ForeignRead(std::move(reader.found));
}

}  // namespace plumb
