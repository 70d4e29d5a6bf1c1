// Deconvolution as sums of products, one per output pixel over the taps that reach it (op/deconvolution.h has the
// formula).
#include "op/deconvolution.h"

#include "device/naive/sum_op.h"

namespace plumb {
namespace {

naive::SumAxis AxisOfDeconvolution(const WindowAxis& a) {
  return {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
}

Status ComputeDeconvolution(const NaiveArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveDeconvolution(args.layer, args.inputs[0]->shape()));
  naive::SumGeometry geometry;
  geometry.transposed = true;
  geometry.groups = shape.group;
  geometry.in_channels = shape.in_channels;
  geometry.out_channels = shape.out_channels;
  geometry.axis = {naive::SumAxis(), AxisOfDeconvolution(shape.window.h), AxisOfDeconvolution(shape.window.w)};
  naive::SumOperands operands;
  operands.weight = args.layer.Resource("weight")->data<float>();
  operands.activate = naive::ActivationRow(shape.activation);
  return naive::RunBatch(geometry, operands, shape.batch, args, bound);
}

Status RunDeconvolution(const NaiveArgs& args) { return ComputeDeconvolution(args, nullptr); }
Status BoundDeconvolution(const NaiveArgs& args, const BoundArgs& bound) { return ComputeDeconvolution(args, &bound); }

}  // namespace

NaiveOp NaiveDeconvolution() { return {RunDeconvolution, BoundDeconvolution, naive::kMaxSumLevel}; }

}  // namespace plumb
