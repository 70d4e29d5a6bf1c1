// SPDX-License-Identifier: Apache-2.0
// Gather, GatherND. A constant table (an embedding) or constant indices become the layer's resources.
#include "op/gather.h"

#include "format/onnx/node_context.h"

namespace plumb::onnx {

Status MapGather(NodeContext& c) {
  auto param = std::make_shared<GatherParam>();
  PLUMB_ASSIGN_OR_RETURN(param->axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  const Tensor* data = c.Known(0);
  const Tensor* indices = c.Known(1);
  std::vector<Value> inputs;
  std::map<std::string, Tensor> resources;
  param->data_in_resource = data != nullptr && indices == nullptr;
  param->indices_in_resource = indices != nullptr && data == nullptr;
  if (param->data_in_resource)
    resources["data"] = *data;
  else
    inputs.push_back(c.In(0));
  if (param->indices_in_resource)
    resources["indices"] = *indices;
  else
    inputs.push_back(c.In(1));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kGather, param, inputs, resources));
  c.Set(0, y, c.In(0).type);
  return Status::Ok();
}

Status MapGatherND(NodeContext& c) {
  auto param = std::make_shared<GatherNDParam>();
  param->batch_dims = static_cast<int>(c.Int("batch_dims", 0));
  return c.EmitOutput(OpKind::kGatherND, param, {c.In(0), c.In(1)});
}

// GatherND with each element's own position in front of and behind the axis.
Status MapGatherElements(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value indices, c.CastTo(c.In(1), DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.TakeElements(c.In(0), indices, axis));
  c.Set(0, y, c.In(0).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
