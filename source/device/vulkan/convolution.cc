// SPDX-License-Identifier: Apache-2.0
// Convolution, Convolution1D and Deconvolution of every kind with what follows them (device/shared/fused_tail.h), in
// plain order and one invocation per output: convolution.comp. Slow, and the last resort of the rows above it.
#include "op/convolution.h"

#include <algorithm>

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/products.h"
#include "op/deconvolution.h"

namespace plumb::vulkan {

Result<ConvolutionShape> ResolveAny(const Layer& layer, const Shape& input) {
  return layer.kind == OpKind::kDeconvolution ? ResolveDeconvolution(layer, input) : ResolveConvolution(layer, input);
}

// Convolution [out][in/group][k], deconvolution [group][in/group][out/group][k].
Result<Folded> FoldedWeights(const Layer& layer, const ConvolutionShape& shape, const ChannelAffine& affine) {
  const int64_t in = shape.in_per_group(), out = shape.out_per_group(), k = shape.kernel_size();
  const WeightStrides plain{out * in * k, in * k, k}, transposed{in * out * k, k, out * k};
  PLUMB_ASSIGN_OR_RETURN(Folded folded,
                         Fold(layer, shape, layer.kind == OpKind::kDeconvolution ? transposed : plain, affine));
  if (folded.bias.empty()) {
    PLUMB_ASSIGN_OR_RETURN(folded.bias, Tensor::Zeros(DType::kF32, {shape.out_channels}));
  }
  return folded;
}

namespace {

Status SupportsConvolution(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  return RequireLoopRounds(spec, NestedRounds(1, shape.kernel_size(), 1));
}

Status LayoutsConvolution(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), PlainLayout());
  choice->outputs = {PlainLayout()};
  return Status::Ok();
}

Status BuildConvolution(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveAny(b->layer(), b->inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, FoldedWeights(b->layer(), shape, group.affine));
  const int addend = group.AddendInput(b->spec.group);
  LaunchSpec launch;
  launch.shader = "convolution";
  launch.constants = {b->layer().kind == OpKind::kDeconvolution ? 1u : 0u, addend >= 0 ? 1u : 0u,
                      ActivationCode(group.epilogue)};
  PLUMB_ASSIGN_OR_RETURN(const Argument weight, b->Constant(folded.weight));
  PLUMB_ASSIGN_OR_RETURN(const Argument bias, b->Constant(folded.bias));
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(std::max(addend, 0)), weight, bias};
  const WindowAxis &h = shape.window.h, &w = shape.window.w;
  const int64_t count = b->outputs[0].shape.NumElements();
  launch.push.Int(count).Int(shape.group).Int(shape.in_per_group()).Int(shape.out_per_group());
  launch.push.Int(h.in).Int(w.in).Int(h.out).Int(w.out).Int(h.kernel).Int(w.kernel).Int(h.stride).Int(w.stride);
  launch.push.Int(h.dilation).Int(w.dilation).Int(h.pad_begin).Int(w.pad_begin);
  launch.push.Float(group.epilogue.alpha).Float(group.epilogue.beta);
  launch.Over(count);
  AddParts(b, launch, shape.in_per_group(), shape.kernel_size());
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_convolution_plain = {SupportsConvolution, BuildConvolution, LayoutsConvolution};

}  // namespace plumb::vulkan
