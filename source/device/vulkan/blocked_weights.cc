// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/blocked_weights.h"

#include <fmt/core.h>

#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/products.h"

namespace plumb::vulkan {

Result<BlockedWeights> BlockWeights(const Layer& layer, const ConvolutionShape& shape, const ChannelAffine& affine) {
  PLUMB_ASSIGN_OR_RETURN(const Folded folded, FoldedWeights(layer, shape, affine));
  const int64_t in = shape.in_per_group(), taps = shape.kernel_size(), quads = (in + 3) / 4;
  const int64_t blocks = (shape.out_channels + 7) / 8;
  BlockedWeights blocked;
  blocked.weight.assign(static_cast<size_t>(blocks * taps * quads * 32), 0.0f);
  blocked.bias.assign(static_cast<size_t>(blocks * 8), 0.0f);
  const float* weight = folded.weight.data<float>();
  for (int64_t o = 0; o < shape.out_channels; ++o) {
    blocked.bias[static_cast<size_t>(o)] = folded.bias.data<float>()[o];
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t k = 0; k < taps; ++k) {
        blocked.weight[BlockedIndex(o / 8 * taps + k, quads, i, o % 8)] = weight[(o * in + i) * taps + k];
      }
    }
  }
  return blocked;
}

Status RequireWholeBlocks(const ConvolutionShape& shape) {
  if (shape.group == 1 || (shape.in_per_group() % 4 == 0 && shape.out_per_group() % 8 == 0)) return Status::Ok();
  return Status::NotSupported(
      fmt::format("needs groups of whole quads of input and blocks of 8 output channels, got {} to {}",
                  shape.in_per_group(), shape.out_per_group()));
}

Status Channel4Products(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(spec.group.members, *spec.blobs));
  choice->inputs.assign(arriving.size(), nullptr);
  choice->inputs[0] = Channel4Layout(spec);
  choice->outputs = {Channel4Layout(spec)};
  const int addend = group.AddendInput(spec.group);
  if (addend < 0) return Status::Ok();
  choice->inputs[static_cast<size_t>(addend)] = Channel4Layout(spec);
  if (spec.group.inputs[0].blob != spec.group.inputs[static_cast<size_t>(addend)].blob) {
    choice->shares.push_back({ShareWish::kOverwrite, 0, addend});
  }
  return Status::Ok();
}

}  // namespace plumb::vulkan
