// SPDX-License-Identifier: Apache-2.0
// Reductions and the index of the largest or smallest element. Axes from the attribute or (newer opsets) input 1.
#include "op/reduce.h"

#include "format/onnx/node_context.h"
#include "op/arg_max.h"

namespace plumb::onnx {
namespace {

// Whether the reduction of one element is that element.
bool IsIdentityOfOne(OpKind kind) {
  return kind != OpKind::kReduceL1 && kind != OpKind::kReduceL2 && kind != OpKind::kReduceSumSquare &&
         kind != OpKind::kReduceLogSum;
}

Status MapReduce(NodeContext& c, OpKind kind) {
  auto param = std::make_shared<ReduceParam>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.IntsOf(1, "axes"));
  PLUMB_ASSIGN_OR_RETURN(param->axes, Narrow(axes));
  param->keep_dims = c.Int("keepdims", 1) != 0;
  const bool extreme = kind == OpKind::kReduceMax || kind == OpKind::kReduceMin;
  PLUMB_ASSIGN_OR_RETURN(Value x, extreme ? c.Ordered(c.In(0)) : Result<Value>(c.In(0)));
  if (axes.empty() && c.Int("noop_with_empty_axes", 0) != 0) {
    if (IsIdentityOfOne(kind)) {
      c.Set(0, c.In(0));
      return Status::Ok();
    }
    param->axes = {c.Rank(0)};  // of each element alone: its absolute value, square or logarithm
    param->keep_dims = false;
    PLUMB_ASSIGN_OR_RETURN(x, c.Unsqueeze(x, c.Rank(0)));
  }
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(kind, param, {x}));
  y.type = c.In(0).type;
  PLUMB_ASSIGN_OR_RETURN(y, extreme ? c.Ordered(y) : c.Wrap(y, y.type));
  c.Set(0, y);
  return Status::Ok();
}

Status MapArg(NodeContext& c, int mode) {
  auto param = std::make_shared<ArgMaxParam>();
  param->mode = mode;
  PLUMB_ASSIGN_OR_RETURN(param->axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  param->keep_dims = c.Int("keepdims", 1) != 0;
  param->select_last_index = c.Int("select_last_index", 0) != 0;
  PLUMB_ASSIGN_OR_RETURN(const Value x, c.Ordered(c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value index, c.Emit(OpKind::kArgMaxOrMin, param, {x}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.CastTo(index, DType::kI64));
  c.Set(0, y, kTypeInt64);
  return Status::Ok();
}

}  // namespace

#define PLUMB_ONNX_REDUCE(name) \
  Status Map##name(NodeContext& c) { return MapReduce(c, OpKind::k##name); }
PLUMB_ONNX_REDUCE(ReduceSum)
PLUMB_ONNX_REDUCE(ReduceMean)
PLUMB_ONNX_REDUCE(ReduceMax)
PLUMB_ONNX_REDUCE(ReduceMin)
PLUMB_ONNX_REDUCE(ReduceProd)
PLUMB_ONNX_REDUCE(ReduceL1)
PLUMB_ONNX_REDUCE(ReduceL2)
PLUMB_ONNX_REDUCE(ReduceSumSquare)
PLUMB_ONNX_REDUCE(ReduceLogSum)
PLUMB_ONNX_REDUCE(ReduceLogSumExp)
#undef PLUMB_ONNX_REDUCE

Status MapArgMax(NodeContext& c) { return MapArg(c, 1); }
Status MapArgMin(NodeContext& c) { return MapArg(c, 0); }

}  // namespace plumb::onnx
