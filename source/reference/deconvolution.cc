// SPDX-License-Identifier: Apache-2.0
// Deconvolution as sums of products, one per output pixel over the taps that reach it (op/deconvolution.h has the
// formula).
#include "op/deconvolution.h"

#include "reference/sum/op.h"

namespace plumb {
namespace {

reference::SumAxis AxisOfDeconvolution(const WindowAxis& a) {
  return {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
}

Status ComputeDeconvolution(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveDeconvolution(args.layer, args.inputs[0]->shape()));
  reference::SumGeometry geometry;
  geometry.transposed = true;
  geometry.groups = shape.group;
  geometry.in_channels = shape.in_channels;
  geometry.out_channels = shape.out_channels;
  geometry.axis = {reference::SumAxis(), AxisOfDeconvolution(shape.window.h), AxisOfDeconvolution(shape.window.w)};
  reference::SumOperands operands;
  operands.weight = args.layer.Resource("weight")->data<float>();
  operands.activate = reference::ActivationRow(shape.activation);
  return reference::RunBatch(geometry, operands, shape.batch, args, bound);
}

Status RunDeconvolution(const ReferenceArgs& args) { return ComputeDeconvolution(args, nullptr); }
Status BoundDeconvolution(const ReferenceArgs& args, const BoundArgs& bound) {
  return ComputeDeconvolution(args, &bound);
}

}  // namespace

ReferenceOp ReferenceDeconvolution() {
  ReferenceOp op{RunDeconvolution, BoundDeconvolution, reference::kMaxSumLevel};
  op.runs_beside = true;
  return op;
}

}  // namespace plumb
