// SPDX-License-Identifier: Apache-2.0
#include "op/convolution.h"

#include <fmt/core.h>

namespace plumb {

void ConvolutionParam::Visit(ParamVisitor& v) {
  v.Int("group", group, ParamVisitor::kRequired);
  v.Int("in_channels_per_group", in_channels_per_group, ParamVisitor::kRequired);
  v.Int("out_channels", out_channels, ParamVisitor::kRequired);
  v.Int("kernel_h", kernel_h, ParamVisitor::kRequired);
  v.Int("kernel_w", kernel_w, ParamVisitor::kRequired);
  v.Int("stride_h", stride_h, ParamVisitor::kRequired);
  v.Int("stride_w", stride_w, ParamVisitor::kRequired);
  v.Int("pad_h", pad_h);
  v.Int("pad_w", pad_w);
  v.Bool("bias", bias);
  VisitPadType(v, pad_type);
  v.Int("dilation_h", dilation_h);
  v.Int("dilation_w", dilation_w);
  v.Int("activation", activation);
}

void Convolution1DParam::Visit(ParamVisitor& v) {
  v.Int("group", group, ParamVisitor::kRequired);
  v.Int("in_channels_per_group", in_channels_per_group, ParamVisitor::kRequired);
  v.Int("out_channels", out_channels, ParamVisitor::kRequired);
  v.Int("kernel", kernel, ParamVisitor::kRequired);
  v.Int("stride", stride, ParamVisitor::kRequired);
  v.Int("pad_end", pad_end);
  v.Int("pad_begin", pad_begin);
  v.Bool("bias", bias);
  VisitPadType(v, pad_type);
  v.Int("dilation", dilation);
  v.Int("activation", activation);
}

Status CheckConvolutionChannels(const ConvolutionShape& shape) {
  if (shape.group <= 0 || shape.out_channels <= 0 || shape.in_channels % shape.group != 0 ||
      shape.out_channels % shape.group != 0) {
    return Status::InvalidArgument(fmt::format("{} input and {} output channels do not divide into {} groups",
                                               shape.in_channels, shape.out_channels, shape.group));
  }
  switch (shape.activation) {
    case kActivationNone:
    case kActivationReLU:
    case kActivationReLU6:
    case kActivationSwish: return Status::Ok();
    default: return Status::InvalidArgument(fmt::format("activation {} is not 0, 1, 2 or 256", shape.activation));
  }
}

namespace {

Status InferConvolution(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(context.layer, context.shape(0)));
  Shape out{shape.batch, shape.out_channels};
  if (context.shape(0).rank() == 4) out.dims().push_back(shape.window.h.out);
  out.dims().push_back(shape.window.w.out);
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

void VisitConvolutionResources(ResourceVisitor& v, const Layer& layer) {
  v.Name();
  const bool bias = v.Flag("bias");
  v.Raw("weight");
  if (bias) v.Raw("bias");
  v.QuantTail("weight");
}

Status ConvolutionResources(const Layer& layer, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(layer, inputs[0].shape));
  Shape weight{shape.out_channels, shape.in_per_group()};
  if (inputs[0].shape.rank() == 4) weight.dims().push_back(shape.window.h.kernel);
  weight.dims().push_back(shape.window.w.kernel);
  const int64_t fan_in = shape.in_per_group() * shape.kernel_size();
  specs->push_back({"weight", weight, ResourceSpec::kHe, fan_in});
  if (shape.bias) specs->push_back({"bias", {shape.out_channels}, ResourceSpec::kSmall});
  return Status::Ok();
}

double ConvolutionFlops(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  const auto shape = ResolveConvolution(layer, inputs[0].shape);
  if (!shape.ok()) return 0;
  return 2.0 * static_cast<double>(outputs[0].shape.NumElements()) *
         static_cast<double>(shape->in_per_group() * shape->kernel_size());
}

template <class P>
OpDef DefineOfConvolution() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = InferConvolution;
  op.visit_resources = VisitConvolutionResources;
  op.resource_specs = ConvolutionResources;
  op.flops = ConvolutionFlops;
  op.sums = Sums::kProducts;
  return op;
}

}  // namespace

Result<ConvolutionShape> ResolveConvolution(const Layer& layer, const Shape& input) {
  ConvolutionShape shape;
  const bool is_1d = layer.kind == OpKind::kConvolution1D;
  if (input.rank() != (is_1d ? 3 : 4)) {
    return Status::InvalidArgument(
        fmt::format("expects an input of rank {}, found {}", is_1d ? "3" : "4", input.ToString()));
  }
  shape.batch = input[0];
  shape.in_channels = input[1];
  int pad_type;
  if (is_1d) {
    const auto& p = ParamOf<Convolution1DParam>(layer);
    shape.group = p.group;
    shape.out_channels = p.out_channels;
    shape.window.w = {input[2], 1, p.kernel, p.stride, p.dilation, p.pad_begin, p.pad_end};
    shape.bias = p.bias;
    shape.activation = p.activation;
    pad_type = p.pad_type;
  } else {
    const auto& p = ParamOf<ConvolutionParam>(layer);
    shape.group = p.group;
    shape.out_channels = p.out_channels;
    shape.window.h = {input[2], 1, p.kernel_h, p.stride_h, p.dilation_h, p.pad_h, p.pad_h};
    shape.window.w = {input[3], 1, p.kernel_w, p.stride_w, p.dilation_w, p.pad_w, p.pad_w};
    shape.bias = p.bias;
    shape.activation = p.activation;
    pad_type = p.pad_type;
    PLUMB_RETURN_IF_ERROR(ResolveWindow(pad_type, false, &shape.window.h).AddContext("height"));
  }
  PLUMB_RETURN_IF_ERROR(ResolveWindow(pad_type, false, &shape.window.w).AddContext("width"));
  PLUMB_RETURN_IF_ERROR(CheckConvolutionChannels(shape));
  return shape;
}

OpDef DefineConvolution() { return DefineOfConvolution<ConvolutionParam>(); }
OpDef DefineConvolution1D() { return DefineOfConvolution<Convolution1DParam>(); }

}  // namespace plumb
