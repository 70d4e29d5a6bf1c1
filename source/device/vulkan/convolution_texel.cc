// Convolution, Convolution1D and InnerProduct with what follows them, in NC4HW4 through texel buffers, for drivers that run on
// a CPU: convolution_texel.comp.
#include "device/vulkan/blocked_weights.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/products.h"
#include "device/vulkan/shape_choice.h"

namespace plumb::vulkan {
namespace {

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kCpu));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  return RequireWholeBlocks(shape);
}

uint32_t HasPadding(const ConvolutionShape& shape) {
  for (const WindowAxis* axis : {&shape.window.h, &shape.window.w}) {
    const int64_t last = (axis->out - 1) * axis->stride - axis->pad_begin + axis->extent();
    if (axis->pad_begin > 0 || last > axis->in) return 1;
  }
  return 0;
}

Status Build(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const BlockedWeights weights, BlockWeights(b->layer(), shape, group.affine));
  const int addend = group.AddendInput(b->spec.group);
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  const int64_t pixels = h.out * w.out, per_item = pixels == 1 ? 1 : 8;
  const int64_t image_blocks = (pixels + per_item - 1) / per_item, blocks = shape.batch * image_blocks;
  const int64_t out_blocks = (shape.out_channels + 7) / 8;
  LaunchSpec launch;
  launch.shader = per_item == 1 ? "convolution_texel_1" : "convolution_texel_8";
  if (group.epilogue.kind == Epilogue::Kind::kSwish) launch.shader += "_swish";
  launch.shader += HalfSuffix(b->outputs[0].layout);
  launch.constants = {HasPadding(shape)};
  PLUMB_ASSIGN_OR_RETURN(const Argument weight,
                         b->Constant(weights.weight.data(), weights.weight.size() * sizeof(float), Argument::kTexelsF32x4));
  PLUMB_ASSIGN_OR_RETURN(const Argument bias,
                         b->Constant(weights.bias.data(), weights.bias.size() * sizeof(float), Argument::kTexelsF32x4));
  launch.arguments = {Argument::Output(0), Argument::Input(0, TexelsOf(b->inputs[0].layout)),
                      Argument::Input(std::max(addend, 0), TexelsOf(b->inputs[0].layout)), weight, bias};
  launch.push.Int(blocks * out_blocks).Int(image_blocks).Int(blocks);
  launch.push.Int((shape.in_channels + 3) / 4).Int((shape.in_per_group() + 3) / 4).Int((shape.out_channels + 3) / 4);
  launch.push.Int((shape.out_per_group() + 7) / 8).Int(shape.out_channels);
  launch.push.Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride);
  launch.push.Int(h.dilation).Int(w.dilation).Int(h.pad_begin).Int(w.pad_begin);
  launch.push.Int(addend >= 0 ? 1 : 0);
  PushActivation4(group.epilogue, &launch.push);
  launch.Over(blocks * out_blocks);
  b->launches.push_back(std::move(launch));
  b->detail = per_item == 1 ? "8 channels of a pixel" : "8 channels of 8 pixels";
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_convolution_texel = {Supports, Build, Channel4Products};

}  // namespace plumb::vulkan
