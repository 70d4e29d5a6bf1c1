// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/constants.h"

#include <fmt/core.h>

#include <cstring>

#include "format/tflite/sparse.h"
#include "graph/resources.h"

namespace plumb::tflite {
namespace {

using schema::TensorType;

Status WrongBytes(int64_t expected, size_t found, const Shape& shape) {
  return Status::CorruptModel(
      fmt::format("expects {} bytes for {}, found a buffer of {}", expected, shape.ToString(), found));
}

// Integers of 2 and 4 bits, lowest bits first.
Result<Tensor> Unpack(std::string_view bytes, const onnx::TinyType& tiny, const Shape& shape) {
  const int in_byte = 8 / tiny.bits, mask = (1 << tiny.bits) - 1;
  const int64_t count = shape.NumElements(), expected = (count + in_byte - 1) / in_byte;
  if (static_cast<int64_t>(bytes.size()) != expected) return WrongBytes(expected, bytes.size(), shape);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kI64, shape));
  for (int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[static_cast<size_t>(i / in_byte)]);
    const int code = byte >> (i % in_byte * tiny.bits) & mask;
    tensor.data<int64_t>()[i] = code > static_cast<int>(tiny.high) ? code - mask - 1 : code;
  }
  return tensor;
}

Result<Tensor> Dense(std::string_view bytes, DType stored, const Shape& shape) {
  const int64_t expected = shape.NumElements() * static_cast<int64_t>(DTypeSize(stored));
  if (static_cast<int64_t>(bytes.size()) != expected) return WrongBytes(expected, bytes.size(), shape);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(stored, shape));
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  if (stored == DType::kBool) {  // any byte but 0 is true; a bool must hold nothing else
    auto* flags = static_cast<uint8_t*>(tensor.raw());
    for (size_t i = 0; i < bytes.size(); ++i) flags[i] = flags[i] != 0;
  }
  return tensor;
}

// The verifier of flatbuffers 2.0.8 lets vectors of 64 bits lie at places of 32.
int64_t WideAt(const flatbuffers::Vector<int64_t>& values, size_t i) {
  int64_t value = 0;
  std::memcpy(&value, values.Data() + i * sizeof(value), sizeof(value));
  return flatbuffers::EndianScalar(value);
}

}  // namespace

Result<int> ElementTypeOf(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32: return onnx::kTypeFloat;
    case TensorType::FLOAT16: return onnx::kTypeFloat16;
    case TensorType::BFLOAT16: return onnx::kTypeBfloat16;
    case TensorType::FLOAT64: return onnx::kTypeDouble;
    case TensorType::INT8: return onnx::kTypeInt8;
    case TensorType::UINT8: return onnx::kTypeUint8;
    case TensorType::INT16: return onnx::kTypeInt16;
    case TensorType::UINT16: return onnx::kTypeUint16;
    case TensorType::INT32: return onnx::kTypeInt32;
    case TensorType::UINT32: return onnx::kTypeUint32;
    case TensorType::INT64: return onnx::kTypeInt64;
    case TensorType::UINT64: return onnx::kTypeUint64;
    case TensorType::BOOL: return onnx::kTypeBool;
    case TensorType::INT4: return onnx::kTypeInt4;
    case TensorType::UINT4: return onnx::kTypeUint4;
    case TensorType::INT2: return onnx::kTypeInt2;
    default: break;
  }
  const std::string name = schema::EnumNameTensorType(type);
  return Status::NotSupported(fmt::format("tensors of {} are not supported",
                                          name.empty() ? "type " + std::to_string(static_cast<int>(type)) : name));
}

Grid GridOf(const schema::Tensor& tensor) {
  Grid grid;
  const schema::QuantizationParameters* given = tensor.quantization();
  if (given == nullptr || given->scale() == nullptr || given->scale()->size() == 0) return grid;
  if (tensor.type() == TensorType::FLOAT32 || tensor.type() == TensorType::FLOAT16) return grid;
  if (BlocksOf(tensor) != nullptr) return grid;
  grid.scale.assign(given->scale()->begin(), given->scale()->end());
  grid.zero_point.assign(grid.scale.size(), 0);
  const auto* zeros = given->zero_point();
  for (size_t i = 0; zeros != nullptr && zeros->size() > 0 && i < grid.scale.size(); ++i)
    grid.zero_point[i] = WideAt(*zeros, zeros->size() == 1 ? 0 : i);
  grid.axis = given->quantized_dimension();
  return grid;
}

const schema::BlockwiseQuantization* BlocksOf(const schema::Tensor& tensor) {
  return tensor.quantization() == nullptr ? nullptr : tensor.quantization()->details_as_BlockwiseQuantization();
}

Result<Tensor> DequantizedBlocks(const Tensor& integers, const Tensor& scales, const Tensor& zero_points) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor q, integers.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scale, scales.ConvertedTo(DType::kF32));
  const int rank = q.shape().rank();
  const int64_t blocks = scale.NumElements(), rows = rank == 0 ? 1 : q.shape().Count(0, rank - 1);
  const int64_t row = rank == 0 ? 1 : q.shape()[rank - 1];
  if (blocks == 0 || rows == 0 || blocks % rows != 0 || row % (blocks / rows) != 0 ||
      (!zero_points.empty() && zero_points.NumElements() != blocks))
    return Status::CorruptModel(
        fmt::format("{} scales of blocks do not divide {}", scale.shape().ToString(), q.shape().ToString()));
  const int64_t length = q.NumElements() / blocks;
  PLUMB_ASSIGN_OR_RETURN(Tensor reals, Tensor::Create(DType::kF32, q.shape()));
  for (int64_t i = 0; i < q.NumElements(); ++i) {
    const int64_t block = i / length;
    const double zero = zero_points.empty() ? 0 : zero_points.ValueAt(block);
    const double whole = static_cast<double>(q.data<int64_t>()[i]) - zero;
    reals.data<float>()[i] = static_cast<float>(whole) * scale.data<float>()[block];
  }
  return reals;
}

Result<onnx::ConstantIr> ReadConstant(const ModelFile& file, const schema::Tensor& tensor, bool skip_weights) {
  onnx::ConstantIr constant;
  PLUMB_ASSIGN_OR_RETURN(constant.type, ElementTypeOf(tensor.type()));
  PLUMB_ASSIGN_OR_RETURN(const DType stored, onnx::StoredDType(constant.type));
  PLUMB_ASSIGN_OR_RETURN(const DType carried, onnx::CarriedDType(constant.type));
  const Shape shape = ShapeOf(tensor);
  const std::string_view bytes = file.Data(tensor.buffer());
  if (tensor.sparsity() != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor dense, Densified(*tensor.sparsity(), bytes, stored, shape));
    PLUMB_ASSIGN_OR_RETURN(constant.value, dense.ConvertedTo(carried));
    return constant;
  }
  if (const onnx::TinyType* tiny = onnx::FindTiny(constant.type)) {
    PLUMB_ASSIGN_OR_RETURN(constant.value, Unpack(bytes, *tiny, shape));
    return constant;
  }
  if (skip_weights && IsSkippedWeight(stored, shape)) {
    const int64_t expected = shape.NumElements() * static_cast<int64_t>(DTypeSize(stored));
    if (static_cast<int64_t>(bytes.size()) != expected) return WrongBytes(expected, bytes.size(), shape);
    PLUMB_ASSIGN_OR_RETURN(constant.value, UntouchedZeros(carried, shape));
    return constant;
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor dense, Dense(bytes, stored, shape));
  PLUMB_ASSIGN_OR_RETURN(constant.value, dense.ConvertedTo(carried));
  return constant;
}

}  // namespace plumb::tflite
