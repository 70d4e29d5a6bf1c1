// SPDX-License-Identifier: Apache-2.0
#include "op/reshape.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Result<std::vector<int64_t>> WantedDims(const ShapeContext& context) {
  const auto& p = ParamOf<ReshapeParam>(context.layer);
  if (!p.shape.empty() || context.inputs.size() < 2) return std::vector<int64_t>(p.shape.begin(), p.shape.end());
  if (context.inputs[1].value.empty()) {
    return Status::NotSupported("the shape comes from a blob whose value is not known before the network runs");
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, context.inputs[1].value.ConvertedTo(DType::kI64));
  return std::vector<int64_t>(value.data<int64_t>(), value.data<int64_t>() + value.NumElements());
}

Status InferReshape(ShapeContext& context) {
  const auto& p = ParamOf<ReshapeParam>(context.layer);
  const Shape& input = context.shape(0);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> wanted, WantedDims(context));
  const int axis = p.axis;
  const int num_axes = p.num_axes <= 0 ? static_cast<int>(wanted.size()) : p.num_axes;
  if (axis < 0 || axis > input.rank())
    return Status::InvalidArgument(fmt::format("axis {} is outside {}", axis, input.ToString()));
  std::vector<int64_t> dims(input.dims().begin(), input.dims().begin() + axis);
  int inferred = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int source = axis + static_cast<int>(i);
    int64_t dim = wanted[i];
    if (dim == 0 && source < input.rank()) dim = input[source];
    if (dim == -1) {
      if (inferred >= 0) return Status::InvalidArgument("more than one dim is -1");
      inferred = static_cast<int>(dims.size());
      dim = 1;
    }
    dims.push_back(dim);
  }
  for (int i = axis + num_axes; i < input.rank() && p.num_axes > 0; ++i) dims.push_back(input[i]);
  Shape out(std::move(dims));
  PLUMB_RETURN_IF_ERROR(out.Validate());
  const int64_t count = out.NumElements();
  if (inferred >= 0 && count > 0 && input.NumElements() % count == 0) out[inferred] = input.NumElements() / count;
  if (out.NumElements() != input.NumElements()) {
    return Status::InvalidArgument(fmt::format("cannot reshape {} to {}", input.ToString(), out.ToString()));
  }
  context.SetAll(context.inputs[0].dtype, out);
  if (!context.inputs[0].value.empty() && p.reshape_type == 0) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, context.inputs[0].value.Reshaped(out));
  }
  return Status::Ok();
}

}  // namespace

OpDef DefineReshape() {
  OpDef op;
  op.make_param = MakeParam<ReshapeParam>;
  op.infer = InferReshape;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
