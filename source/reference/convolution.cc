// SPDX-License-Identifier: Apache-2.0
// Convolution and Convolution1D as sums of products (op/convolution.h has the formula). Where TNN's naive kernel
// differs (it uses dilation_h on both axes, and float accumulation), this is the mathematically right result.
#include "op/convolution.h"

#include "reference/core/elementwise.h"
#include "reference/sum/op.h"
#include "reference/sum/winograd.h"

namespace plumb {
namespace {

reference::SumAxis AxisOfConvolution(const WindowAxis& a) {
  return {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
}

WinogradForm FormOf(const Numerics& declared) {
  return {declared.tile, declared.points, declared.dimensions, declared.stride};
}

// RunBatch, values alone where that is all that stays of it, then each tau as Winograd's algorithm in the declared form
// needs it, or raised to what its usual forms may do, then the layer's own activation.
Status RunAsWinograd(const reference::SumGeometry& geometry, reference::SumOperands operands, int64_t batch,
                     const ReferenceArgs& args, const BoundArgs& bound) {
  const auto activate = operands.activate;
  operands.activate = nullptr;
  const Numerics& products = bound.arithmetic.products;
  const bool uncertain = InputTau(bound, 0) != nullptr, declared = products.tile > 0;
  const BoundArgs* direct = declared && !uncertain ? nullptr : &bound;
  PLUMB_RETURN_IF_ERROR(reference::RunBatch(geometry, operands, batch, args, direct));
  const int64_t in = geometry.in_channels * geometry.in_pixels();
  const int64_t out = geometry.out_channels * geometry.out_pixels();
  double* values = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<double> own(uncertain ? static_cast<size_t>(out) : 0);  // what is inherited adds to it
    double* raised = uncertain ? own.data() : tau + n * out;
    const reference::ConstReals input = reference::RealsOf(*args.inputs[0], n * in);
    const reference::SumBound sums = reference::SumBoundOf(&bound);
    if (declared) {
      reference::BoundAsWinograd(geometry, FormOf(products), operands.weight.f32(), input, values + n * out, sums,
                                 raised);
    } else {
      reference::RaiseToWinograd(geometry, operands.weight.f32(), input, values + n * out, sums, raised);
    }
    double* inherited = tau + n * out;
    for (size_t i = 0; i < own.size(); ++i) inherited[i] = Quadrature(inherited[i], own[i]);
  }
  ParallelFor(activate != nullptr ? batch * out : 0, kElementGrain,
              [&](int64_t begin, int64_t end) { activate(end - begin, values + begin, tau + begin); });
  double* beside = args.beside != nullptr ? args.beside->outputs[0]->data<double>() : nullptr;
  ParallelFor(activate != nullptr && beside != nullptr ? batch * out : 0, kElementGrain,
              [&](int64_t begin, int64_t end) { activate(end - begin, beside + begin, nullptr); });
  return Status::Ok();
}

Status ComputeConvolution(const ReferenceArgs& args, const BoundArgs* bound) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(args.layer, args.inputs[0]->shape()));
  reference::SumGeometry geometry;
  geometry.groups = shape.group;
  geometry.in_channels = shape.in_channels;
  geometry.out_channels = shape.out_channels;
  geometry.axis = {reference::SumAxis(), AxisOfConvolution(shape.window.h), AxisOfConvolution(shape.window.w)};
  reference::SumOperands operands;
  operands.weight = args.layer.Resource("weight")->data<float>();
  operands.activate = reference::ActivationRow(shape.activation);
  const Numerics direct, &products = bound == nullptr ? direct : bound->arithmetic.products;
  const bool winograd = products.algorithm == Numerics::kWinograd, declared = products.tile > 0;
  if (winograd && declared) PLUMB_RETURN_IF_ERROR(products.Validate());
  if (winograd && (declared ? reference::Applies(FormOf(products), geometry) : reference::MayBeWinograd(geometry))) {
    return RunAsWinograd(geometry, operands, shape.batch, args, *bound);
  }
  return reference::RunBatch(geometry, operands, shape.batch, args, bound);
}

Status RunConvolution(const ReferenceArgs& args) { return ComputeConvolution(args, nullptr); }
Status BoundConvolution(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeConvolution(args, &bound); }

}  // namespace

ReferenceOp ReferenceConvolution() {
  ReferenceOp op{RunConvolution, BoundConvolution, reference::kMaxSumLevel};
  op.runs_beside = true;
  return op;
}
ReferenceOp ReferenceConvolution1D() { return ReferenceConvolution(); }

}  // namespace plumb
