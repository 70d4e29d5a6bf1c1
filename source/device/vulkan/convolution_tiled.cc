// Convolution and Convolution1D with what follows them, in NC4HW4 through shared memory, for GPUs: convolution_tiled.comp.
#include "device/vulkan/blocked_weights.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/products.h"
#include "device/vulkan/shape_choice.h"

namespace plumb::vulkan {
namespace {

constexpr int64_t kTilePixels = 64, kTileChannels = 32;

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kGpu));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  if (shape.group == 1) return Status::Ok();
  return Status::NotSupported("needs one group, got " + std::to_string(shape.group));
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const BlockedWeights weights, BlockWeights(b->layer(), shape, group.affine));
  const int addend = group.AddendInput(b->spec.group);
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  const int64_t image_tiles = (h.out * w.out + kTilePixels - 1) / kTilePixels;
  LaunchSpec launch;
  launch.shader = group.epilogue.kind == Epilogue::Kind::kSwish ? "convolution_tiled_swish" : "convolution_tiled";
  launch.shader += HalfSuffix(b->outputs[0].layout);
  PLUMB_ASSIGN_OR_RETURN(const Argument weight, b->Constant(weights.weight.data(), weights.weight.size() * sizeof(float)));
  PLUMB_ASSIGN_OR_RETURN(const Argument bias, b->Constant(weights.bias.data(), weights.bias.size() * sizeof(float)));
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(std::max(addend, 0)), weight, bias};
  launch.push.Int(image_tiles).Int((shape.in_channels + 3) / 4).Int((shape.out_channels + 3) / 4).Int(shape.out_channels);
  launch.push.Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride);
  launch.push.Int(h.dilation).Int(w.dilation).Int(h.pad_begin).Int(w.pad_begin).Int(addend >= 0 ? 1 : 0);
  PushActivation4(group.epilogue, &launch.push);
  launch.groups[0] = static_cast<uint32_t>(shape.batch * image_tiles);
  launch.groups[1] = static_cast<uint32_t>((shape.out_channels + kTileChannels - 1) / kTileChannels);
  b->launches.push_back(std::move(launch));
  b->detail = "tiles of 64 pixels, 32 channels";
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_convolution_tiled = {Supports, Build, Channel4Products};

}  // namespace plumb::vulkan
