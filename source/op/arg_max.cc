// SPDX-License-Identifier: Apache-2.0
#include "op/arg_max.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferArgMax(ShapeContext& context) {
  const auto& p = ParamOf<ArgMaxParam>(context.layer);
  const Shape& in = context.shape(0);
  const DType dtype = context.inputs[0].dtype;
  if (dtype != DType::kI32 && dtype != DType::kI64) PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  if (p.mode != 0 && p.mode != 1)
    return Status::InvalidArgument(fmt::format("mode {} is not 0 (min) or 1 (max)", p.mode));
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, in.rank()));
  if (in[axis] == 0 || in[axis] > INT32_MAX) {
    return Status::InvalidArgument(fmt::format("axis {} of {} has no i32 index", p.axis, in.ToString()));
  }
  Shape out = in;
  if (p.keep_dims) {
    out[axis] = 1;
  } else {
    out.dims().erase(out.dims().begin() + axis);
  }
  context.SetAll(DType::kI32, out);
  return Status::Ok();
}

}  // namespace

OpDef DefineArgMaxOrMin() {
  OpDef op;
  op.make_param = MakeParam<ArgMaxParam>;
  op.infer = InferArgMax;
  return op;
}

}  // namespace plumb
