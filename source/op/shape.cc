// SPDX-License-Identifier: Apache-2.0
// Shape: the dims of the input, i32 [rank]. Size: their product, i32 [1]. Both are known before the network runs.
#include <fmt/core.h>

#include "op/core/strided.h"
namespace plumb {
namespace {

Status SetKnown(const std::vector<int64_t>& values, ShapeContext* context) {
  PLUMB_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(DType::kI32, Shape{static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > INT32_MAX) {
      return Status::NotSupported(fmt::format("the shape {} does not fit an i32 blob", context->shape(0).ToString()));
    }
    out.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  context->outputs[0] = {DType::kI32, out.shape(), out};
  return Status::Ok();
}

Status InferDims(ShapeContext& context) { return SetKnown(context.shape(0).dims(), &context); }
Status InferSize(ShapeContext& context) { return SetKnown({context.shape(0).NumElements()}, &context); }

OpDef DefineOfShape(Status (*infer)(ShapeContext&)) {
  OpDef op;
  op.infer = infer;
  return op;
}

}  // namespace

OpDef DefineShape() { return DefineOfShape(InferDims); }
OpDef DefineSize() { return DefineOfShape(InferSize); }

}  // namespace plumb
