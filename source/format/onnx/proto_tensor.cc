// SPDX-License-Identifier: Apache-2.0
// Initialisers and tensor attributes: raw_data, the typed fields, external files.
#include "format/onnx/proto_tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "graph/resources.h"

namespace plumb::onnx {
namespace {

using ::onnx::TensorProto;

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The path behind links and dots, or empty.
std::string Resolved(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return "";
  std::string text(resolved);
  std::free(resolved);
  return text;
}

Result<int64_t> ParseNumber(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 0) {
    return Status::CorruptModel(fmt::format("external data field '{}' expects a number, found '{}'", key, text));
  }
  return static_cast<int64_t>(value);
}

// The file of external data; only files in the model's folder or below.
Result<FileSource> OpenExternal(const TensorProto& proto, const std::string& model_path, int64_t* offset,
                                int64_t* length) {
  std::string location;
  *offset = 0;
  *length = -1;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      PLUMB_ASSIGN_OR_RETURN(*offset, ParseNumber("offset", entry.value()));
    }
    if (entry.key() == "length") {
      PLUMB_ASSIGN_OR_RETURN(*length, ParseNumber("length", entry.value()));
    }
  }
  if (location.empty()) return Status::CorruptModel("its data is external, but no location is named");
  if (location.find('\0') != std::string::npos)  // the system would read it up to there
    return Status::CorruptModel(fmt::format("external data '{}': there is a zero byte in the name", location));
  const std::string folder = Resolved(Folder(model_path));
  if (location[0] == '/' || folder.empty()) {
    return Status::CorruptModel(fmt::format("external data '{}' must lie in the model's folder", location));
  }
  const std::string path = Resolved(fmt::format("{}/{}", folder, location));
  if (path.empty())
    return Status::NotFound(fmt::format("external data '{}' is not in the folder of the model", location));
  const std::string inside = folder == "/" ? folder : folder + "/";
  if (path.compare(0, inside.size(), inside) != 0) {
    return Status::CorruptModel(
        fmt::format("external data '{}' lies outside the model's folder; it is not read", location));
  }
  return OpenSource(path);
}

template <class T, class Field>
void CopyField(const Field& field, Tensor* tensor) {
  for (int i = 0; i < field.size(); ++i) tensor->data<T>()[i] = static_cast<T>(field.Get(i));
}

Status WrongCount(int64_t expected, int64_t found) {
  return Status::CorruptModel(fmt::format("expects {} values, found {}", expected, found));
}

template <class T, class Field>
Status FromField(const Field& field, Tensor* tensor) {
  if (field.size() != tensor->NumElements()) return WrongCount(tensor->NumElements(), field.size());
  CopyField<T>(field, tensor);
  return Status::Ok();
}

Status FromTypedFields(const TensorProto& proto, Tensor* tensor) {
  switch (proto.data_type()) {
    case kTypeFloat: return FromField<float>(proto.float_data(), tensor);
    case kTypeDouble: return FromField<double>(proto.double_data(), tensor);
    case kTypeInt64: return FromField<int64_t>(proto.int64_data(), tensor);
    case kTypeUint64: return FromField<int64_t>(proto.uint64_data(), tensor);
    case kTypeUint32: return FromField<uint32_t>(proto.uint64_data(), tensor);
    case kTypeInt32: return FromField<int32_t>(proto.int32_data(), tensor);
    case kTypeInt16: return FromField<int16_t>(proto.int32_data(), tensor);
    case kTypeInt8: return FromField<int8_t>(proto.int32_data(), tensor);
    case kTypeUint8: return FromField<uint8_t>(proto.int32_data(), tensor);
    case kTypeBool: {
      if (proto.int32_data_size() != tensor->NumElements())
        return WrongCount(tensor->NumElements(), proto.int32_data_size());
      for (int i = 0; i < proto.int32_data_size(); ++i) tensor->data<bool>()[i] = proto.int32_data(i) != 0;
      return Status::Ok();
    }
    default: return FromField<uint16_t>(proto.int32_data(), tensor);  // uint16, float16, bfloat16
  }
}

// Any byte but 0 is true; a bool must hold nothing else.
void SettleBools(Tensor* tensor) {
  if (tensor->dtype() != DType::kBool) return;
  auto* bytes = static_cast<uint8_t*>(tensor->raw());
  for (int64_t i = 0; i < tensor->NumElements(); ++i) bytes[i] = bytes[i] != 0;
}

// How many bytes of values the message itself holds; a declared shape must not ask for memory beyond it.
int64_t HeldElements(const TensorProto& proto) {
  return std::max({proto.float_data_size(), proto.double_data_size(), proto.int64_data_size(), proto.uint64_data_size(),
                   proto.int32_data_size()});
}

// Of a weight that is skipped: whether the message has as many values as its shape says. External ones are not opened.
Status CheckHeld(const TensorProto& proto, int64_t size, int64_t count) {
  if (proto.data_location() == TensorProto::EXTERNAL) return Status::Ok();
  const int64_t held =
      proto.has_raw_data() ? static_cast<int64_t>(proto.raw_data().size()) / size : HeldElements(proto);
  return held == count ? Status::Ok() : WrongCount(count, held);
}

Status Fill(TensorProto* proto, const std::string& model_path, DType stored, const Shape& shape, Tensor* tensor) {
  const auto bytes = shape.NumElements() * static_cast<int64_t>(DTypeSize(stored));
  if (proto->data_location() == TensorProto::EXTERNAL) {
    int64_t offset, length;
    PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenExternal(*proto, model_path, &offset, &length));
    const auto size = static_cast<int64_t>(file.size());
    if (length < 0) length = size - offset;
    if (offset > size || length > size - offset || length != bytes) {
      return Status::CorruptModel(fmt::format(
          "expects {} bytes of external data, found {} at offset {} of a file of {}", bytes, length, offset, size));
    }
    PLUMB_ASSIGN_OR_RETURN(*tensor, Tensor::Create(stored, shape));
    PLUMB_RETURN_IF_ERROR(file.Read(static_cast<size_t>(offset), static_cast<size_t>(length), tensor->raw()));
    SettleBools(tensor);
    return Status::Ok();
  }
  if (proto->has_raw_data()) {
    const auto size = static_cast<int64_t>(proto->raw_data().size());
    if (size != bytes) {
      return Status::CorruptModel(fmt::format("expects {} bytes, found {}", bytes, size));
    }
    PLUMB_ASSIGN_OR_RETURN(*tensor, Tensor::Create(stored, shape));
    if (size > 0) std::memcpy(tensor->raw(), proto->raw_data().data(), static_cast<size_t>(size));
    SettleBools(tensor);
    std::string().swap(*proto->mutable_raw_data());
    return Status::Ok();
  }
  if (HeldElements(*proto) != shape.NumElements()) return WrongCount(shape.NumElements(), HeldElements(*proto));
  PLUMB_ASSIGN_OR_RETURN(*tensor, Tensor::Create(stored, shape));
  return FromTypedFields(*proto, tensor);
}

// Bytes of a tensor of a tiny type; int32_data holds one byte each.
Result<std::vector<uint8_t>> PackedBytes(TensorProto* proto, const std::string& model_path, int64_t count) {
  std::vector<uint8_t> bytes;
  if (!proto->has_raw_data() && proto->data_location() != TensorProto::EXTERNAL) {
    if (proto->int32_data_size() != count) return WrongCount(count, proto->int32_data_size());
    for (const int32_t byte : proto->int32_data()) bytes.push_back(static_cast<uint8_t>(byte));
    return bytes;
  }
  Tensor tensor;
  PLUMB_RETURN_IF_ERROR(Fill(proto, model_path, DType::kU8, Shape{count}, &tensor));
  bytes.assign(tensor.data<uint8_t>(), tensor.data<uint8_t>() + count);
  return bytes;
}

Result<Tensor> Unpacked(TensorProto* proto, const std::string& model_path, const TinyType& tiny, const Shape& shape) {
  const int in_byte = 8 / tiny.bits, mask = (1 << tiny.bits) - 1;
  const int64_t count = shape.NumElements();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                         PackedBytes(proto, model_path, (count + in_byte - 1) / in_byte));
  const DType dtype = tiny.integer != nullptr ? DType::kI64 : DType::kF32;
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  for (int64_t i = 0; i < count; ++i) {
    const int code = bytes[static_cast<size_t>(i / in_byte)] >> (i % in_byte * tiny.bits) & mask;
    if (tiny.integer == nullptr)
      tensor.data<float>()[i] = DecodeSmallFloat(*tiny.small_float, static_cast<uint8_t>(code));
    else
      tensor.data<int64_t>()[i] = code > static_cast<int>(tiny.high) ? code - mask - 1 : code;
  }
  return tensor;
}

}  // namespace

Result<ConstantIr> ConvertTensor(TensorProto* proto, const std::string& model_path, bool skip_weights) {
  ConstantIr constant;
  constant.type = proto->data_type();
  const Result<DType> stored = StoredDType(constant.type);
  if (!stored.ok()) {
    constant.why = stored.status().message();
    return constant;
  }
  if (proto->has_segment()) {
    constant.why = "tensors in segments are not supported";
    return constant;
  }
  const Shape shape(std::vector<int64_t>(proto->dims().begin(), proto->dims().end()));
  PLUMB_RETURN_IF_ERROR(shape.Validate());
  if (const TinyType* tiny = FindTiny(constant.type)) {
    PLUMB_ASSIGN_OR_RETURN(constant.value, Unpacked(proto, model_path, *tiny, shape));
    return constant;
  }
  if (skip_weights && IsSkippedWeight(*stored, shape)) {
    PLUMB_RETURN_IF_ERROR(CheckHeld(*proto, static_cast<int64_t>(DTypeSize(*stored)), shape.NumElements()));
    PLUMB_ASSIGN_OR_RETURN(const DType carried, CarriedDType(constant.type));
    PLUMB_ASSIGN_OR_RETURN(constant.value, UntouchedZeros(carried, shape));
    std::string().swap(*proto->mutable_raw_data());
    return constant;
  }
  PLUMB_RETURN_IF_ERROR(Fill(proto, model_path, *stored, shape, &constant.value));
  PLUMB_ASSIGN_OR_RETURN(const DType carried, CarriedDType(constant.type));
  PLUMB_ASSIGN_OR_RETURN(constant.value, constant.value.ConvertedTo(carried));
  return constant;
}

void FillTensorProto(const std::string& name, const Tensor& tensor, ::onnx::TensorProto* proto) {
  proto->Clear();
  proto->set_name(name);
  proto->set_data_type(TypeOf(tensor.dtype()));
  for (const int64_t dim : tensor.shape().dims()) proto->add_dims(dim);
  proto->set_raw_data(tensor.raw(), tensor.bytes());
}

}  // namespace plumb::onnx
