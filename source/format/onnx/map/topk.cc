// SPDX-License-Identifier: Apache-2.0
// TopK: k times the index of the largest element, which is then taken out by -infinity (the smallest whole number); of
// equal elements the first comes first, as ONNX wants it. Elements that are -infinity themselves may be named twice. A
// k beyond 300 is one PlumbTopK, and another runtime's choice is judged by one: of equal elements it may take any.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "format/onnx/node_context.h"
#include "op/arg_max.h"
#include "op/top_k.h"

namespace plumb::onnx {
namespace {

constexpr int64_t kMaxK = 300;

Result<Value> Outcast(NodeContext& c, DType dtype, bool largest) {
  if (IsFloat(dtype)) return c.ConstFloat(largest ? -INFINITY : INFINITY, dtype);
  const bool narrow = dtype == DType::kI32;
  const int64_t low = narrow ? INT32_MIN : INT64_MIN, high = narrow ? INT32_MAX : INT64_MAX;
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor({largest ? low : high}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, list.Reshaped(Shape{}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor typed, scalar.ConvertedTo(dtype));
  return c.Const(typed);
}

LayerSpec OneLayer(NodeContext& c, int axis, bool largest, int64_t k) {
  auto param = std::make_shared<PlumbTopKParam>();
  param->axis = axis;
  param->largest = largest;
  param->sorted = c.Int("sorted", 1) != 0;
  return {OpKind::kPlumbTopK, param, {c.In(0), c.ConstInts({k})}, {}, 2};
}

Status Sorted(NodeContext& c, int axis, bool largest, int64_t k) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> y, c.EmitMany(OneLayer(c, axis, largest, k)));
  c.Set(0, y[0], c.In(0).type);
  c.Set(1, y[1], kTypeInt64);
  return Status::Ok();
}

}  // namespace

Status MapTopK(NodeContext& c) {
  int64_t k = c.Int("k", 0);
  if (c.opset() >= 10) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> values, c.Ints(1, "k"));
    if (values.size() != 1) return Status::CorruptModel("k must be one value");
    k = values[0];
  }
  const Shape in = c.ShapeOf(0);
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", -1)), in.rank()));
  if (k < 1 || k > in[axis]) return Status::CorruptModel(fmt::format("k is {} of {} elements", k, in[axis]));
  const bool largest = c.Int("largest", 1) != 0;
  if (k > kMaxK) return Sorted(c, axis, largest, k);
  auto param = std::make_shared<ArgMaxParam>();
  param->mode = largest ? 1 : 0;
  param->axis = axis;
  std::vector<int64_t> dims(static_cast<size_t>(in.rank()), 1);
  dims[static_cast<size_t>(axis)] = in[axis];
  PLUMB_ASSIGN_OR_RETURN(const Value ruler, c.Positions(Shape(dims), axis));
  PLUMB_ASSIGN_OR_RETURN(const Value outcast, Outcast(c, c.DTypeOf(0), largest));
  Value left = c.In(0);
  std::vector<Value> indices;
  for (int64_t i = 0; i < k; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const Value narrow, c.Emit(OpKind::kArgMaxOrMin, param, {left}));
    PLUMB_ASSIGN_OR_RETURN(const Value index, c.CastTo(narrow, DType::kI64));
    indices.push_back(index);
    if (i + 1 == k) break;
    PLUMB_ASSIGN_OR_RETURN(const Value hit, c.Emit(OpKind::kEqual, nullptr, {ruler, index}));
    PLUMB_ASSIGN_OR_RETURN(left, c.Select(hit, outcast, left));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value all, c.Join(indices, axis));
  PLUMB_ASSIGN_OR_RETURN(const Value values, c.TakeElements(c.In(0), all, axis));
  c.Set(0, values, c.In(0).type);
  if (c.Wants(1)) c.Set(1, all, kTypeInt64);
  c.Whole(OneLayer(c, axis, largest, k), {values, all});
  return Status::Ok();
}

}  // namespace plumb::onnx
