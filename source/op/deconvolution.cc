// SPDX-License-Identifier: Apache-2.0
#include "op/deconvolution.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb {
namespace {

Status ResolveAxis(int pad_type, WindowAxis* axis) {
  if (axis->kernel <= 0 || axis->stride <= 0 || axis->dilation <= 0) {
    return Status::InvalidArgument(fmt::format("kernel {}, stride {} and dilation {} must be positive", axis->kernel,
                                               axis->stride, axis->dilation));
  }
  const int64_t full = (axis->in - 1) * axis->stride + axis->extent();
  switch (pad_type) {
    case kPadExplicit: break;
    case kPadSame:
    case kPadSameSwapped: {
      axis->out = axis->in * axis->stride;
      const int64_t total = std::max<int64_t>(full - axis->out, 0);
      axis->pad_begin = pad_type == kPadSame ? total / 2 : total - total / 2;
      axis->pad_end = total - axis->pad_begin;
      return Status::Ok();
    }
    case kPadValid: axis->pad_begin = axis->pad_end = 0; break;
    case kPadFull: axis->pad_begin = axis->pad_end = axis->extent() - 1; break;
    default: return Status::InvalidArgument(fmt::format("pad_type {} is not -1, 0, 1, 2 or 3", pad_type));
  }
  if (axis->pad_begin < 0 || axis->pad_end < 0) return Status::InvalidArgument("a pad is negative");
  axis->out = full - axis->pad_begin - axis->pad_end;
  if (axis->in > 0 && axis->out > 0) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("pads of {} and {} leave nothing of an output of {}", axis->pad_begin, axis->pad_end, full));
}

Status InferDeconvolution(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveDeconvolution(context.layer, context.shape(0)));
  context.SetAll(context.inputs[0].dtype, {shape.batch, shape.out_channels, shape.window.h.out, shape.window.w.out});
  return Status::Ok();
}

void VisitResourcesDeconvolution(ResourceVisitor& v, const Layer&) {
  v.Name();
  const bool bias = v.Flag("bias");
  v.Raw("weight");
  if (bias) v.Raw("bias");
  v.QuantTail("weight");
}

Status ResourcesDeconvolution(const Layer& layer, const std::vector<BlobInfo>& inputs,
                              std::vector<ResourceSpec>* specs) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveDeconvolution(layer, inputs[0].shape));
  const WindowAxis& h = shape.window.h;
  const WindowAxis& w = shape.window.w;
  // Each output pixel meets one tap in stride_h * stride_w.
  const int64_t fan_in = std::max<int64_t>(1, shape.in_per_group() * shape.kernel_size() / (h.stride * w.stride));
  specs->push_back(
      {"weight", {shape.in_channels, shape.out_per_group(), h.kernel, w.kernel}, ResourceSpec::kHe, fan_in});
  if (shape.bias) specs->push_back({"bias", {shape.out_channels}, ResourceSpec::kSmall});
  return Status::Ok();
}

double FlopsDeconvolution(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>&) {
  const auto shape = ResolveDeconvolution(layer, inputs[0].shape);
  if (!shape.ok()) return 0;
  return 2.0 * static_cast<double>(inputs[0].shape.NumElements()) *
         static_cast<double>(shape->out_per_group() * shape->kernel_size());
}

}  // namespace

Result<ConvolutionShape> ResolveDeconvolution(const Layer& layer, const Shape& input) {
  if (input.rank() != 4) return Status::InvalidArgument("expects an input of rank 4, found " + input.ToString());
  const auto& p = ParamOf<ConvolutionParam>(layer);
  ConvolutionShape shape;
  shape.batch = input[0];
  shape.in_channels = input[1];
  shape.group = p.group;
  shape.out_channels = p.out_channels;
  shape.window.h = {input[2], 1, p.kernel_h, p.stride_h, p.dilation_h, p.pad_h, p.pad_h};
  shape.window.w = {input[3], 1, p.kernel_w, p.stride_w, p.dilation_w, p.pad_w, p.pad_w};
  shape.bias = p.bias;
  shape.activation = p.activation;
  PLUMB_RETURN_IF_ERROR(ResolveAxis(p.pad_type, &shape.window.h).AddContext("height"));
  PLUMB_RETURN_IF_ERROR(ResolveAxis(p.pad_type, &shape.window.w).AddContext("width"));
  PLUMB_RETURN_IF_ERROR(CheckConvolutionChannels(shape));
  return shape;
}

OpDef DefineDeconvolution() {
  OpDef op;
  op.make_param = MakeParam<ConvolutionParam>;
  op.infer = InferDeconvolution;
  op.visit_resources = VisitResourcesDeconvolution;
  op.resource_specs = ResourcesDeconvolution;
  op.flops = FlopsDeconvolution;
  op.sums = Sums::kProducts;
  return op;
}

}  // namespace plumb
