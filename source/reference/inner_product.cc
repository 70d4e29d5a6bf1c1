// SPDX-License-Identifier: Apache-2.0
// InnerProduct as a convolution whose window is the whole input (op/inner_product.h has the formula). The input's dims
// behind the channel are the kernel, so that the bound knows both orders in which a device may add.
#include "op/inner_product.h"

#include "reference/sum/op.h"

namespace plumb {
namespace {

Status ComputeInnerProduct(const ReferenceArgs& args, const BoundArgs* bound) {
  const auto& p = ParamOf<InnerProductParam>(args.layer);
  const Shape& shape = args.inputs[0]->shape();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  reference::SumGeometry geometry;
  geometry.in_channels = shape[axis];
  geometry.out_channels = p.num_output;
  geometry.axis[2].in = geometry.axis[2].kernel = shape.CountFrom(axis + 1);
  reference::SumOperands operands;
  operands.weight = args.layer.Resource("weight")->data<float>();
  return reference::RunBatch(geometry, operands, shape.Count(0, axis), args, bound);
}

Status RunInnerProduct(const ReferenceArgs& args) { return ComputeInnerProduct(args, nullptr); }
Status BoundInnerProduct(const ReferenceArgs& args, const BoundArgs& bound) {
  return ComputeInnerProduct(args, &bound);
}

}  // namespace

ReferenceOp ReferenceInnerProduct() {
  ReferenceOp op{RunInnerProduct, BoundInnerProduct, reference::kMaxSumLevel};
  op.runs_beside = true;
  return op;
}

}  // namespace plumb
