// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution with what follows it, in NC4HW4. depthwise_strip.comp, for GPUs: strips of a row in registers.
// depthwise_texel.comp, for drivers on a CPU and windows too wide for a strip: one pixel per invocation.
#include <fmt/core.h>

#include <algorithm>

#include "device/vulkan/blocked_weights.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/products.h"
#include "device/vulkan/strip.h"

namespace plumb::vulkan {
namespace {

Status SupportsDepthwise(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  PLUMB_RETURN_IF_ERROR(RequireLoopRounds(spec, NestedRounds(shape.window.h.kernel, shape.window.w.kernel)));
  if (shape.group > 1 && shape.in_per_group() == 1 && shape.out_per_group() == 1) return Status::Ok();
  return Status::NotSupported(fmt::format("needs one input and one output channel per group, got {} to {}",
                                          shape.in_per_group(), shape.out_per_group()));
}

Status SupportsStrip(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsDepthwise(spec));
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  return RequireStrip(spec, shape.window.w);
}

// Weights [quad][tap][4], biases [quad][4].
Status AddWeights(Builder* b, const ConvolutionShape& shape, const ChannelAffine& affine, Argument::View view,
                  LaunchSpec* launch) {
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, FoldedWeights(b->layer(), shape, affine));
  const int64_t channels = shape.out_channels, quads = (channels + 3) / 4, taps = shape.kernel_size();
  std::vector<float> weight(static_cast<size_t>(quads * taps * 4)), bias(static_cast<size_t>(quads * 4));
  for (int64_t c = 0; c < channels; ++c) {
    bias[static_cast<size_t>(c)] = folded.bias.data<float>()[c];
    for (int64_t k = 0; k < taps; ++k) {
      weight[static_cast<size_t>((c / 4 * taps + k) * 4 + c % 4)] = folded.weight.data<float>()[c * taps + k];
    }
  }
  PLUMB_ASSIGN_OR_RETURN(const Argument weights, b->Constant(weight.data(), weight.size() * 4, view));
  PLUMB_ASSIGN_OR_RETURN(const Argument biases, b->Constant(bias.data(), bias.size() * 4, view));
  launch->arguments.push_back(weights);
  launch->arguments.push_back(biases);
  return Status::Ok();
}

template <bool strip>
Status BuildDepthwise(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(b->layer(), b->inputs[0].shape));
  const int64_t channels = shape.out_channels, quads = (channels + 3) / 4;
  const int addend = group.AddendInput(b->spec.group);
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  LaunchSpec launch;
  launch.shader = strip ? "depthwise_strip" : "depthwise_texel";
  if (group.epilogue.kind == Epilogue::Kind::kSwish) launch.shader += "_swish";
  launch.shader += HalfSuffix(b->outputs[0].layout);
  const Argument::View view = strip ? Argument::kStorage : TexelsOf(b->inputs[0].layout);
  launch.arguments = {Argument::Output(0), Argument::Input(0, view), Argument::Input(std::max(addend, 0), view)};
  PLUMB_RETURN_IF_ERROR(
      AddWeights(b, shape, group.affine, strip ? Argument::kStorage : Argument::kTexelsF32x4, &launch));
  const int64_t count = shape.batch * quads * h.out * (strip ? Strips(w.out) : w.out);
  launch.push.Int(count).Int(quads).Int(channels).Int(h.in).Int(w.in).Int(h.out).Int(w.out);
  if (strip) {
    launch.constants = {static_cast<uint32_t>(w.kernel), static_cast<uint32_t>(w.stride),
                        static_cast<uint32_t>(w.dilation)};
    launch.push.Int(h.kernel).Int(h.stride).Int(h.dilation);
    b->detail = "strips of 4 pixels";
  } else {
    launch.push.Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride).Int(h.dilation).Int(w.dilation);
  }
  launch.push.Int(h.pad_begin).Int(w.pad_begin).Int(addend >= 0 ? 1 : 0);
  PushActivation4(group.epilogue, &launch.push);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_depthwise_strip = {SupportsStrip, BuildDepthwise<true>, Channel4Products};
const KernelFunctions kernel_depthwise = {SupportsDepthwise, BuildDepthwise<false>, Channel4Products};

}  // namespace plumb::vulkan
