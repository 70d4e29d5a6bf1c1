// SPDX-License-Identifier: Apache-2.0
// What is known when the model is loaded: constants, shapes; and nodes that hand their input on.
#include "format/onnx/node_context.h"

#include <algorithm>

namespace plumb::onnx {
namespace {

Status SetConstant(NodeContext& c, const ConstantIr& constant) {
  if (constant.value.empty()) return Status::NotSupported(constant.why.empty() ? "the value is missing" : constant.why);
  c.Set(0, c.builder().AddConstant(constant.value, constant.type), constant.type);
  return Status::Ok();
}

// One value repeated, without a layer.
Result<Tensor> Repeated(NodeContext& c, const Tensor& one, const Shape& shape) {
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(one.dtype(), shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor filled, Tensor::Create(one.dtype(), shape));
  const size_t size = DTypeSize(one.dtype());
  for (int64_t i = 0; i < filled.NumElements(); ++i) {
    std::copy_n(static_cast<const char*>(one.raw()), size,
                static_cast<char*>(filled.raw()) + static_cast<size_t>(i) * size);
  }
  return filled;
}

}  // namespace

Status MapIdentity(NodeContext& c) {
  c.Set(0, c.In(0));
  return Status::Ok();
}

Status MapDropout(NodeContext& c) {
  bool active = false;
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor training, c.Constant(2, "training_mode"));
    double ratio = 0.5;
    if (c.Has(1)) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, c.Constant(1, "the ratio"));
      ratio = value.ValueAt(0);
    }
    active = training.ValueAt(0) != 0 && ratio != 0;
  }
  if (active)
    return Status::NotSupported("Dropout in training mode is random (AL05); export the model in evaluation mode");
  c.Set(0, c.In(0));
  if (!c.Wants(1)) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(Tensor yes, Tensor::Zeros(DType::kBool, Shape{}));
  *yes.data<bool>() = true;
  PLUMB_ASSIGN_OR_RETURN(const Tensor mask, Repeated(c, yes, c.ShapeOf(0)));
  c.Set(1, c.Const(mask), kTypeBool);
  return Status::Ok();
}

Status MapConstant(NodeContext& c) {
  if (const AttributeIr* value = c.Attribute("value")) return SetConstant(c, value->tensor);
  const bool ints = c.HasAttribute("value_ints");
  if (ints || c.HasAttribute("value_int")) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor(ints ? c.LongIntList("value_ints")
                                                             : std::vector<int64_t>{c.LongInt("value_int", 0)}));
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, list.Reshaped(ints ? list.shape() : Shape{}));
    c.Set(0, c.Const(tensor), kTypeInt64);
    return Status::Ok();
  }
  const bool floats = c.HasAttribute("value_floats");
  if (!floats && !c.HasAttribute("value_float"))
    return Status::NotSupported("only tensors, integers and floats are read");
  const std::vector<float> values =
      floats ? c.FloatList("value_floats") : std::vector<float>{c.Float("value_float", 0)};
  const Shape shape = floats ? Shape{static_cast<int64_t>(values.size())} : Shape{};
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, shape));
  std::copy(values.begin(), values.end(), tensor.data<float>());
  c.Set(0, c.Const(tensor), kTypeFloat);
  return Status::Ok();
}

Status MapConstantOfShape(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, c.Ints(0, "the shape"));
  ConstantIr constant;
  constant.type = kTypeFloat;
  if (const AttributeIr* value = c.Attribute("value")) {
    constant = value->tensor;
  } else {
    PLUMB_ASSIGN_OR_RETURN(constant.value, Tensor::Zeros(DType::kF32, Shape{1}));
  }
  if (constant.value.empty() || constant.value.NumElements() != 1)
    return Status::CorruptModel("the value must have one element");
  PLUMB_ASSIGN_OR_RETURN(constant.value, Repeated(c, constant.value, Shape(dims)));
  return SetConstant(c, constant);
}

Status MapEyeLike(NodeContext& c) {
  const Shape& shape = c.ShapeOf(0);
  if (shape.rank() != 2) return Status::CorruptModel("expects a matrix, found " + shape.ToString());
  const int type = static_cast<int>(c.Int("dtype", c.In(0).type));
  PLUMB_ASSIGN_OR_RETURN(const DType dtype, CarriedDType(type));
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kI64, shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor eye, Tensor::Zeros(DType::kI64, shape));
  const int64_t k = c.Int("k", 0);
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i + k >= 0 && i + k < shape[1]) eye.data<int64_t>()[i * shape[1] + i + k] = 1;
  }
  PLUMB_ASSIGN_OR_RETURN(eye, eye.ConvertedTo(dtype));
  c.Set(0, c.Const(eye), type);
  return Status::Ok();
}

Status MapRange(NodeContext& c) {
  for (size_t i = 0; i < 3; ++i)
    PLUMB_RETURN_IF_ERROR(c.Constant(i, i == 0 ? "start" : i == 1 ? "limit" : "delta").status());
  return c.EmitOutput(OpKind::kRange, nullptr, {c.In(0), c.In(1), c.In(2)});
}

Status MapShape(NodeContext& c) {
  const auto rank = static_cast<int64_t>(c.Rank(0));
  const auto clamped = [&](int64_t axis) {
    return std::min(std::max<int64_t>(axis < 0 ? axis + rank : axis, 0), rank);
  };
  const int64_t start = clamped(c.LongInt("start", 0)), end = clamped(c.LongInt("end", rank));
  const std::vector<int64_t>& dims = c.ShapeOf(0).dims();
  std::vector<int64_t> part;
  if (start < end) part.assign(dims.begin() + start, dims.begin() + end);
  c.Set(0, c.ConstInts(part), kTypeInt64);
  return Status::Ok();
}

Status MapSize(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor({c.ShapeOf(0).NumElements()}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, list.Reshaped(Shape{}));
  c.Set(0, c.Const(scalar), kTypeInt64);
  return Status::Ok();
}

}  // namespace plumb::onnx
