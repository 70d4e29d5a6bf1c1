// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's debug node files: one serialised TensorProto per tensor, <tensor>.tensorproto, and what ONNX's own
// test data are (input_0.pb).
//
// Format: onnx/onnx.proto, message TensorProto, in protobuf's wire encoding (protobuf.dev/programming-guides/encoding);
// which files are written says onnxruntime/core/framework/debug_node_inputs_outputs_utils.cc (a build with
// onnxruntime_DEBUG_NODE_INPUTS_OUTPUTS=1 and ORT_DEBUG_NODE_IO_DUMP_DATA_DESTINATION=files). Names are taken from
// inside, since file names lose what is no letter or digit. Read without protobuf, so that every build has it.
#include <fmt/core.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "interop/foreign_bytes.h"
#include "interop/foreign_formats.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

// Fields of TensorProto, and its DataType.
enum ProtoField : uint64_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDataLocation = 14
};
const std::map<uint64_t, DType> kProtoTypes = {
    {1, DType::kF32}, {2, DType::kU8},   {3, DType::kI8},   {4, DType::kU16},  {5, DType::kI16},  {6, DType::kI32},
    {7, DType::kI64}, {9, DType::kBool}, {10, DType::kF16}, {11, DType::kF64}, {12, DType::kU32}, {16, DType::kBF16}};

struct ProtoTensor {
  std::string name;
  std::vector<int64_t> dims;
  uint64_t type = 0;
  bool external = false, has_raw = false;
  std::string_view raw;
  std::string typed;  // little-endian values of whichever field has them, in the dtype's size
};

// Protobuf's wire encoding, front to back; false where it ends too early or is none.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }
  size_t at() const { return at_; }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return false;
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      *value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Bytes(uint64_t size, std::string_view* value) {
    if (size > bytes_.size() - at_) return false;
    *value = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }
  // A field's key and content: `number` for a varint, `content` for the others.
  bool Field(uint64_t* field, int* type, uint64_t* number, std::string_view* content) {
    uint64_t key = 0, size = 0;
    if (!Varint(&key)) return false;
    *field = key >> 3;
    *type = static_cast<int>(key & 7);
    if (*field == 0) return false;
    switch (*type) {
      case 0: return Varint(number);
      case 1: return Bytes(8, content);
      case 2: return Varint(&size) && Bytes(size, content);
      case 5: return Bytes(4, content);
      default: return false;
    }
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

// Varints of a repeated field, packed or alone.
bool ProtoNumbers(int type, uint64_t number, std::string_view content, std::vector<uint64_t>* numbers) {
  if (type == 0) {
    numbers->push_back(number);
    return true;
  }
  WireReader packed(content);
  while (!packed.done()) {
    if (!packed.Varint(&number)) return false;
    numbers->push_back(number);
  }
  return type == 2;
}

void AppendProtoValue(uint64_t value, ProtoTensor* tensor) {
  const auto dtype = kProtoTypes.find(tensor->type);
  const size_t size = dtype == kProtoTypes.end() ? 8 : DTypeSize(dtype->second);
  tensor->typed.append(reinterpret_cast<const char*>(&value), size);
}

bool TakeProtoField(uint64_t field, int type, uint64_t number, std::string_view content, ProtoTensor* tensor) {
  std::vector<uint64_t> numbers;
  switch (field) {
    case kDims:
      if (!ProtoNumbers(type, number, content, &numbers)) return false;
      for (const uint64_t dim : numbers) tensor->dims.push_back(static_cast<int64_t>(dim));
      return true;
    case kDataType: tensor->type = number; return type == 0;
    case kDataLocation: tensor->external = number == 1; return type == 0;
    case kName: tensor->name = content; return type == 2;
    case kRawData:
      tensor->raw = content;
      tensor->has_raw = true;
      return type == 2;
    case kFloatData:
    case kDoubleData: tensor->typed.append(content); return type != 0;
    case kInt32Data:
    case kInt64Data:
    case kUint64Data: {
      if (type == 0) AppendProtoValue(number, tensor);
      WireReader packed(type == 2 ? content : std::string_view());
      while (!packed.done()) {
        if (!packed.Varint(&number)) return false;
        AppendProtoValue(number, tensor);
      }
      return type == 0 || type == 2;
    }
    default: return true;
  }
}

bool IsTyped(uint64_t field) {
  return (field >= kFloatData && field <= kInt64Data) || (field >= kDoubleData && field <= kUint64Data);
}

// Without `values` only what describes them.
Result<ProtoTensor> ParseTensorProto(std::string_view bytes, const std::string& path, bool values) {
  ProtoTensor tensor;
  WireReader reader(bytes);
  while (!reader.done()) {
    const size_t at = reader.at();
    uint64_t field = 0, number = 0;
    int type = 0;
    std::string_view content;
    const bool whole = reader.Field(&field, &type, &number, &content);
    const bool skipped = whole && IsTyped(field) && !values;
    if (!whole || (!skipped && !TakeProtoField(field, type, number, content, &tensor))) {
      return Status::CorruptModel(
          fmt::format("'{}' is no TensorProto of ONNX: what begins at byte {} of {} is cut off or no field of one",
                      path, at, bytes.size()));
    }
  }
  PLUMB_RETURN_IF_ERROR(Shape(tensor.dims).Validate().AddContext(fmt::format("'{}', tensor '{}'", path, tensor.name)));
  if (tensor.type != 0) return tensor;
  return Status::CorruptModel(fmt::format("'{}' is no TensorProto of ONNX: it has no data_type", path));
}

}  // namespace

Result<NamedTensor> ParseTensorProtoFile(std::string_view bytes, const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const ProtoTensor proto, ParseTensorProto(bytes, path, /*values=*/true));
  const auto type = kProtoTypes.find(proto.type);
  if (type == kProtoTypes.end() || proto.external) {
    return Status::NotSupported(
        fmt::format("'{}', tensor '{}': {}", path, proto.name,
                    proto.external ? "its values lie in another file; ONNX Runtime's dumps hold them inside"
                                   : fmt::format("data_type {} is none that Plumb has", proto.type)));
  }
  TensorHints hints;
  hints.dtype = type->second;
  hints.shape = Shape(proto.dims);
  const std::string_view values = proto.has_raw ? proto.raw : std::string_view(proto.typed);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> read, ParseTensors(values, path + ".raw", hints));
  return NamedTensor{proto.name, read.front().tensor};
}

ForeignRead ReadTensorProtos(const ForeignPlace& place) {
  std::vector<std::string> paths;
  for (const char* ending : {".tensorproto", ".pb"}) {
    if (!place.is_folder && EndsWith(place.path, ending)) paths.push_back(place.path);
    for (const std::string& name : place.Ending(ending)) paths.push_back(place.In(name));
  }
  if (paths.empty()) return ForeignRead(std::nullopt);
  ForeignTensors found;
  found.description = "TensorProto files (ONNX Runtime's debug node dump)";
  for (const std::string& path : paths) {
    PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
    PLUMB_ASSIGN_OR_RETURN(const ProtoTensor proto, ParseTensorProto(bytes.text(), path, /*values=*/false));
    StoredTensor stored;
    stored.name = proto.name.empty() ? std::filesystem::path(path).stem().string() : proto.name;
    stored.origin = path;
    stored.load = [path]() -> Result<Tensor> {
      PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(path));
      PLUMB_ASSIGN_OR_RETURN(const NamedTensor read, ParseTensorProtoFile(file.text(), path));
      return read.tensor;
    };
    found.tensors.push_back(std::move(stored));
  }
  return ForeignRead(std::move(found));
}

}  // namespace plumb
