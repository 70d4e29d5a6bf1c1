// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax. Before opset 13 all dims from the axis on are one row, unless one of them alone counts.
#include "op/softmax.h"

#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

Status MapRows(NodeContext& c, OpKind kind) {
  const bool rows = c.opset() < 13;
  const Shape in = c.ShapeOf(0);
  auto param = std::make_shared<SoftmaxParam>();
  PLUMB_ASSIGN_OR_RETURN(param->axis, NormalizeAxis(static_cast<int>(c.Int("axis", rows ? 1 : -1)), in.rank()));
  if (!rows || in.CountFrom(param->axis + 1) == 1) return c.EmitOutput(kind, param, {c.In(0)});
  PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(c.In(0), {in.Count(0, param->axis), in.CountFrom(param->axis)}));
  param->axis = 1;
  PLUMB_ASSIGN_OR_RETURN(const Value softmax, c.Emit(kind, param, {flat}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Reshape(softmax, in.dims()));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace

Status MapSoftmax(NodeContext& c) { return MapRows(c, OpKind::kSoftmax); }
Status MapLogSoftmax(NodeContext& c) { return MapRows(c, OpKind::kLogSoftmax); }

}  // namespace plumb::onnx
