// Convolution and Convolution1D as sums of products (op/convolution.h has the formula). Where TNN's naive kernel
// differs (it uses dilation_h on both axes, and float accumulation), this is the mathematically right result.
#include "op/convolution.h"

#include "device/naive/elementwise.h"
#include "device/naive/sum_op.h"
#include "device/naive/winograd.h"

namespace plumb {
namespace {

naive::SumAxis AxisOfConvolution(const WindowAxis& a) {
  return {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
}

// RunBatch, then each tau as Winograd's algorithm in the declared form needs it, or raised to what its usual forms may
// do, then the layer's own activation.
Status RunAsWinograd(const naive::SumGeometry& geometry, naive::SumOperands operands, int64_t batch,
                     const NaiveArgs& args, const BoundArgs& bound) {
  const auto activate = operands.activate;
  operands.activate = nullptr;
  PLUMB_RETURN_IF_ERROR(naive::RunBatch(geometry, operands, batch, args, &bound));
  const int64_t in = geometry.in_channels * geometry.in_pixels();
  const int64_t out = geometry.out_channels * geometry.out_pixels();
  double* values = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  const WinogradForm& form = bound.arithmetic.winograd;
  const bool uncertain = InputTau(bound, 0) != nullptr;
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<double> own(uncertain ? static_cast<size_t>(out) : 0);  // what is inherited adds to it
    double* raised = uncertain ? own.data() : tau + n * out;
    const naive::ConstReals input = naive::RealsOf(*args.inputs[0], n * in);
    const naive::SumBound sums = naive::SumBoundOf(&bound);
    if (form.used()) {
      naive::BoundAsWinograd(geometry, form, operands.weight.f32(), input, values + n * out, sums, raised);
    } else {
      naive::RaiseToWinograd(geometry, operands.weight.f32(), input, values + n * out, sums, raised);
    }
    double* inherited = tau + n * out;
    for (size_t i = 0; i < own.size(); ++i) inherited[i] = Quadrature(inherited[i], own[i]);
  }
  if (activate != nullptr) activate(batch * out, values, tau);
  return Status::Ok();
}

Status ComputeConvolution(const NaiveArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(args.layer, args.inputs[0]->shape()));
  naive::SumGeometry geometry;
  geometry.groups = shape.group;
  geometry.in_channels = shape.in_channels;
  geometry.out_channels = shape.out_channels;
  geometry.axis = {naive::SumAxis(), AxisOfConvolution(shape.window.h), AxisOfConvolution(shape.window.w)};
  naive::SumOperands operands;
  operands.weight = args.layer.Resource("weight")->data<float>();
  operands.activate = naive::ActivationRow(shape.activation);
  const bool declared = bound != nullptr && bound->arithmetic.winograd.used();
  const bool any = bound != nullptr && bound->arithmetic.any_winograd;
  if (declared ? naive::IsPlain3x3(geometry) : any && naive::MayBeWinograd(geometry)) {
    if (declared) PLUMB_RETURN_IF_ERROR(naive::CheckWinogradForm(bound->arithmetic.winograd));
    return RunAsWinograd(geometry, operands, shape.batch, args, *bound);
  }
  return naive::RunBatch(geometry, operands, shape.batch, args, bound);
}

Status RunConvolution(const NaiveArgs& args) { return ComputeConvolution(args, nullptr); }
Status BoundConvolution(const NaiveArgs& args, const BoundArgs& bound) { return ComputeConvolution(args, &bound); }

}  // namespace

NaiveOp NaiveConvolution() { return {RunConvolution, BoundConvolution, naive::kMaxSumLevel}; }
NaiveOp NaiveConvolution1D() { return {RunConvolution, BoundConvolution, naive::kMaxSumLevel}; }

}  // namespace plumb
