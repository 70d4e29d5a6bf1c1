// SPDX-License-Identifier: Apache-2.0
// CumSum: sums of 1, 2, 4, ... neighbours: after k steps y[i] is the sum of the last 2^k elements up to i. Whole
// numbers are exact; floats are added in another order than one after the other, with a smaller error, so another
// runtime's sums are judged by one PlumbCumSum. That is also the layer along an axis known only when the network runs.
#include "format/onnx/node_context.h"
#include "op/cum_sum.h"
#include "op/pad.h"
#include "op/strided_slice.h"

namespace plumb::onnx {
namespace {

// Elements moved by `by` along the axis, zeros coming in (towards the front for a negative one).
Result<Value> Moved(NodeContext& c, const Value& x, int axis, int64_t by) {
  auto pad = std::make_shared<PadV2Param>();
  pad->begins.assign(static_cast<size_t>(c.ShapeOf(x).rank()), 0);
  pad->ends = pad->begins;
  pad->begins[static_cast<size_t>(axis)] = static_cast<int>(by);
  pad->ends[static_cast<size_t>(axis)] = static_cast<int>(-by);
  return c.Emit(OpKind::kPadV2, pad, {x});
}

}  // namespace

Status MapCumSum(NodeContext& c) {
  auto param = std::make_shared<CumSumParam>();
  param->exclusive = c.Int("exclusive", 0) != 0;
  param->reverse = c.Int("reverse", 0) != 0;
  if (c.Known(1) == nullptr) {
    PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kPlumbCumSum, param, {c.In(0), c.In(1)}));
    PLUMB_ASSIGN_OR_RETURN(y, c.Wrap(y, c.In(0).type));
    c.Set(0, y);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.Ints(1, "the axis"));
  if (axes.size() != 1) return Status::CorruptModel("the axis must be one value");
  PLUMB_ASSIGN_OR_RETURN(const int axis, AxisOf(axes[0], c.Rank(0)));
  param->axis = axis;
  const int64_t n = c.ShapeOf(0)[axis], sign = param->reverse ? -1 : 1;
  Value y = c.In(0);
  if (n > 0 && param->exclusive) {
    PLUMB_ASSIGN_OR_RETURN(y, Moved(c, y, axis, sign));
  }
  for (int64_t step = 1; step < n; step *= 2) {
    PLUMB_ASSIGN_OR_RETURN(const Value moved, Moved(c, y, axis, sign * step));
    PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kAdd, nullptr, {y, moved}));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value wrapped, c.Wrap(y, c.In(0).type));
  if (n > 1 && IsFloat(c.DTypeOf(0))) c.Whole({OpKind::kPlumbCumSum, param, {c.In(0)}, {}, 1}, {wrapped});
  c.Set(0, wrapped);
  return Status::Ok();
}

}  // namespace plumb::onnx
