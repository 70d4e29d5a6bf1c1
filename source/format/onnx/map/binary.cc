// SPDX-License-Identifier: Apache-2.0
// Add, Sub, Mul, Div, Pow with NumPy broadcasting, and Max, Min, Sum, Mean over any number of inputs. A constant float
// operand becomes the layer's resource, with as many dims as the other operand, so that TNN's rules for bare counts
// never apply.
#include "op/binary.h"
#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

// The constant under the other operand's rank, or a null tensor where it has to stay a blob.
Result<Tensor> AsResource(NodeContext& c, const Value& constant, const Value& other) {
  const Tensor* value = c.Known(constant);
  if (value == nullptr || c.Known(other) != nullptr || value->dtype() != DType::kF32) return Tensor();
  std::vector<int64_t> dims = value->shape().dims();
  const auto rank = static_cast<size_t>(c.ShapeOf(other).rank());
  if (rank == 0) return Tensor();
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return value->Reshaped(Shape(dims));
}

Result<Value> Apply(NodeContext& c, OpKind kind, const Value& a, const Value& b) {
  for (int position = 0; position < 2 && kind != OpKind::kPlumbPow; ++position) {
    const Value& constant = position == 0 ? a : b;
    const Value& other = position == 0 ? b : a;
    PLUMB_ASSIGN_OR_RETURN(const Tensor element, AsResource(c, constant, other));
    if (element.empty() || c.builder().Info(other).dtype != DType::kF32) continue;
    auto param = std::make_shared<BinaryParam>();
    param->weight_input_index = position;
    return c.Emit(kind, param, {other}, {{"element", element}});
  }
  return c.Binary(kind, a, b);
}

Status MapBinary(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, Apply(c, kind, c.In(0), c.In(1)));
  c.Set(0, y);
  return Status::Ok();
}

Result<Value> Fold(NodeContext& c, OpKind kind) {
  const bool ordered = kind != OpKind::kAdd;
  const auto input = [&](size_t i) { return ordered ? c.Ordered(c.In(i)) : Result<Value>(c.In(i)); };
  PLUMB_ASSIGN_OR_RETURN(Value y, input(0));
  for (size_t i = 1; i < c.NumInputs(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const Value next, input(i));
    PLUMB_ASSIGN_OR_RETURN(y, Apply(c, kind, y, next));
    y.type = c.In(0).type;
  }
  return ordered ? c.Ordered(y) : Result<Value>(y);
}

Status MapMany(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, Fold(c, kind));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace

Status MapAdd(NodeContext& c) { return MapBinary(c, OpKind::kAdd); }
Status MapSub(NodeContext& c) { return MapBinary(c, OpKind::kSub); }
Status MapMul(NodeContext& c) { return MapBinary(c, OpKind::kMul); }
Status MapDiv(NodeContext& c) { return MapBinary(c, OpKind::kDiv); }
Status MapMax(NodeContext& c) { return MapMany(c, OpKind::kMaximum); }
Status MapMin(NodeContext& c) { return MapMany(c, OpKind::kMinimum); }
Status MapSum(NodeContext& c) { return MapMany(c, OpKind::kAdd); }

Status MapMean(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value sum, Fold(c, OpKind::kAdd));
  const Value count = c.ConstFloat(static_cast<float>(c.NumInputs()), c.builder().Info(sum).dtype);
  PLUMB_ASSIGN_OR_RETURN(const Value mean, Apply(c, OpKind::kDiv, sum, count));
  c.Set(0, mean);
  return Status::Ok();
}

// The base's type is the result's; an exponent of another type is converted: to f64 where one of them is not a float.
Status MapPow(NodeContext& c) {
  const DType base = c.DTypeOf(0), exponent = c.DTypeOf(1);
  if (base == exponent) return MapBinary(c, OpKind::kPlumbPow);
  const DType common = IsFloat(base) ? base : IsFloat(exponent) ? DType::kF64 : DType::kI64;
  PLUMB_ASSIGN_OR_RETURN(const Value a, c.CastTo(c.In(0), common));
  PLUMB_ASSIGN_OR_RETURN(const Value b, c.CastTo(c.In(1), common));
  PLUMB_ASSIGN_OR_RETURN(const Value power, c.Emit(OpKind::kPlumbPow, nullptr, {a, b}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.CastTo(power, base));
  PLUMB_ASSIGN_OR_RETURN(const Value wrapped, c.Wrap(y, c.In(0).type));
  c.Set(0, wrapped);
  return Status::Ok();
}

}  // namespace plumb::onnx
