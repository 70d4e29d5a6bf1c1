// SPDX-License-Identifier: Apache-2.0
// Convolution and Convolution1D with what follows them, in NC4HW4 through shared memory, for GPUs:
// convolution_tiled.comp.
#include "device/vulkan/convolution_product.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/products.h"

namespace plumb::vulkan {
namespace {

constexpr int64_t kTilePixels = 64, kTileChannels = 32;

Status SupportsConvolutionTiled(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kGpu));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  constexpr int64_t kRoundsOfAStep = 5 + 3 + 4 * (8 + 2) + 2;  // of 16 input channels
  PLUMB_RETURN_IF_ERROR(
      RequireLoopRounds(spec, shape.kernel_size() * ((shape.in_per_group() + 15) / 16 + 1) * kRoundsOfAStep));
  return RequireWholeBlocks(shape);
}

Status BuildConvolutionTiled(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const ProductArguments arguments, LayerArguments(b, shape, KernelShape::kGpu));
  b->launches.push_back(TiledConvolution(shape, arguments));
  b->detail = "tiles of 64 pixels, 32 channels";
  return Status::Ok();
}

}  // namespace

LaunchSpec TiledConvolution(const ConvolutionShape& shape, const ProductArguments& arguments) {
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  const int64_t image_tiles = (h.out * w.out + kTilePixels - 1) / kTilePixels, out = shape.out_per_group();
  LaunchSpec launch;
  launch.shader = "convolution_tiled";
  if (arguments.epilogue.kind == Epilogue::Kind::kSwish) launch.shader += "_swish";
  launch.shader += arguments.half;
  launch.arguments = {arguments.output, arguments.input, arguments.addend, arguments.weight, arguments.bias};
  launch.push.Int(image_tiles).Int((shape.in_per_group() + 3) / 4).Int((out + 3) / 4).Int(out);
  launch.push.Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride);
  launch.push.Int(h.dilation).Int(w.dilation).Int(h.pad_begin).Int(w.pad_begin).Int(arguments.has_addend ? 1 : 0);
  PushActivation4(arguments.epilogue, &launch.push);
  launch.groups[0] = static_cast<uint32_t>(shape.batch * image_tiles);
  launch.groups[1] = static_cast<uint32_t>((out + kTileChannels - 1) / kTileChannels);
  launch.groups[2] = static_cast<uint32_t>(shape.group);
  return launch;
}

const KernelFunctions kernel_convolution_tiled = {SupportsConvolutionTiled, BuildConvolutionTiled, Channel4Products};

}  // namespace plumb::vulkan
