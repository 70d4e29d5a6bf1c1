// SPDX-License-Identifier: Apache-2.0
// Convolution, Convolution1D and Deconvolution with what follows them (fused_tail.h): by Winograd's algorithm where
// that is faster, on the micro-kernel of panels where that is, else by a product (product.h). Blocked: channel blocks
// in and out; fewer input channels than a block, as in a first layer, are read as plain NCHW (a block of them would be
// padding). Plain: NCHW throughout for grouped convolutions whose groups cut blocks.
#include "device/cpu/convolution_kernel.h"

#include "device/cpu/kernel_list.h"
#include "device/cpu/panel_convolution.h"
#include "device/cpu/pointwise_convolution.h"
#include "device/cpu/sliced_convolution.h"
#include "device/cpu/winograd_convolution.h"

namespace plumb::cpu {
namespace {

bool IsDeconvolution(const Layer& layer) { return layer.kind == OpKind::kDeconvolution; }

}  // namespace

Result<ConvolutionShape> ResolveAnyConvolution(const Layer& layer, const Shape& input) {
  return IsDeconvolution(layer) ? ResolveDeconvolution(layer, input) : ResolveConvolution(layer, input);
}

ConvParams ParamsOfConvolution(const Layer& layer, const ConvolutionShape& shape, const Epilogue& epilogue,
                               Format format) {
  ConvParams p;
  // A column lies in memory as a row does, and kernels take neighbours of a row at a time.
  const WindowAxis& across = shape.window.w;
  const bool is_column = across.in == 1 && across.out == 1 && across.kernel == 1 && across.pad_begin == 0;
  const WindowAxis &h = is_column ? shape.window.w : shape.window.h, &w = is_column ? shape.window.h : shape.window.w;
  p.groups = shape.group, p.in_channels = shape.in_channels, p.out_channels = shape.out_channels;
  p.in_h = h.in, p.in_w = w.in, p.out_h = h.out, p.out_w = w.out;
  p.kernel_h = h.kernel, p.kernel_w = w.kernel, p.stride_h = h.stride, p.stride_w = w.stride;
  p.dilation_h = h.dilation, p.dilation_w = w.dilation, p.pad_top = h.pad_begin, p.pad_left = w.pad_begin;
  p.dst = format;
  p.src = !IsDeconvolution(layer) && shape.group == 1 && shape.in_channels < ChannelBlock() ? Format::kPlain : format;
  p.transposed = IsDeconvolution(layer);
  p.epilogue = epilogue;
  return p;
}

WeightStrides StridesOfConvolution(const Layer& layer, const ConvolutionShape& shape) {
  const int64_t in = shape.in_per_group(), out = shape.out_per_group(), k = shape.kernel_size();
  if (IsDeconvolution(layer)) return {in * out * k, k, out * k};
  return {out * in * k, in * k, k};
}

namespace {

using Winograd = ConvolutionKernel<WinogradConvolution, Format::kBlocked>;
using Pointwise = ConvolutionKernel<PointwiseConvolution, Format::kBlocked>;
using OnPanels = ConvolutionKernel<PanelConvolution, Format::kBlocked>;
using ConvolutionBlocked = ConvolutionKernel<SlicedConvolution, Format::kBlocked>;
using Plain = ConvolutionKernel<SlicedConvolution, Format::kPlain>;

}  // namespace

const KernelFunctions kernel_convolution_winograd = {Winograd::Supports, MakeKernel<Winograd>};
const KernelFunctions kernel_convolution_pointwise = {Pointwise::Supports, MakeKernel<Pointwise>};
const KernelFunctions kernel_convolution_panel = {OnPanels::Supports, MakeKernel<OnPanels>};
const KernelFunctions kernel_convolution_blocked = {ConvolutionBlocked::Supports, MakeKernel<ConvolutionBlocked>};
const KernelFunctions kernel_convolution_plain = {Plain::Supports, MakeKernel<Plain>};

}  // namespace plumb::cpu
