// SPDX-License-Identifier: Apache-2.0
// Convolution, Convolution1D and InnerProduct with what follows them, in NC4HW4 through texel buffers, for drivers that
// run on a CPU: convolution_texel.comp.
#include "device/vulkan/convolution_product.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/products.h"

namespace plumb::vulkan {
namespace {

Status SupportsConvolutionTexel(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kCpu));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  PLUMB_RETURN_IF_ERROR(RequireLoopRounds(
      spec, NestedRounds(shape.window.h.kernel, shape.window.w.kernel, (shape.in_per_group() + 3) / 4)));
  return RequireWholeBlocks(shape);
}

uint32_t HasPadding(const ConvolutionShape& shape) {
  for (const WindowAxis* axis : {&shape.window.h, &shape.window.w}) {
    const int64_t last = (axis->out - 1) * axis->stride - axis->pad_begin + axis->extent();
    if (axis->pad_begin > 0 || last > axis->in) return 1;
  }
  return 0;
}

int64_t PixelsPerItem(const ConvolutionShape& shape) { return shape.window.h.out * shape.window.w.out == 1 ? 1 : 8; }

Status BuildConvolutionTexel(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const ProductArguments arguments, LayerArguments(b, shape, KernelShape::kCpu));
  b->launches.push_back(TexelConvolution(shape, arguments));
  b->detail = PixelsPerItem(shape) == 1 ? "8 channels of a pixel" : "8 channels of 8 pixels";
  return Status::Ok();
}

}  // namespace

LaunchSpec TexelConvolution(const ConvolutionShape& shape, const ProductArguments& arguments) {
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  const int64_t per_item = PixelsPerItem(shape), image_blocks = (h.out * w.out + per_item - 1) / per_item;
  const int64_t blocks = shape.batch * image_blocks, out_blocks = (shape.out_channels + 7) / 8;
  LaunchSpec launch;
  launch.shader = per_item == 1 ? "convolution_texel_1" : "convolution_texel_8";
  if (arguments.epilogue.kind == Epilogue::Kind::kSwish) launch.shader += "_swish";
  launch.shader += arguments.half;
  launch.constants = {HasPadding(shape)};
  launch.arguments = {arguments.output, arguments.input, arguments.addend, arguments.weight, arguments.bias};
  launch.push.Int(blocks * out_blocks).Int(image_blocks).Int(blocks);
  launch.push.Int((shape.in_channels + 3) / 4).Int((shape.in_per_group() + 3) / 4).Int((shape.out_channels + 3) / 4);
  launch.push.Int((shape.out_per_group() + 7) / 8).Int(shape.out_channels);
  launch.push.Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride);
  launch.push.Int(h.dilation).Int(w.dilation).Int(h.pad_begin).Int(w.pad_begin);
  launch.push.Int(arguments.has_addend ? 1 : 0);
  PushActivation4(arguments.epilogue, &launch.push);
  launch.Over(blocks * out_blocks);
  return launch;
}

const KernelFunctions kernel_convolution_texel = {SupportsConvolutionTexel, BuildConvolutionTexel, Channel4Products};

}  // namespace plumb::vulkan
