// SPDX-License-Identifier: Apache-2.0
// Weights of convolutions in NC4HW4: [block of 8 out][tap][in quad][4 in][2 quads of out], zero where channels end, and
// the bias in whole blocks.
#ifndef PLUMB_DEVICE_VULKAN_BLOCKED_WEIGHTS_H_
#define PLUMB_DEVICE_VULKAN_BLOCKED_WEIGHTS_H_

#include <vector>

#include "device/shared/fused_tail.h"
#include "op/convolution.h"

namespace plumb::vulkan {

struct BlockedWeights {
  std::vector<float> weight, bias;
};

// Where the weight of input channel i and output channel `lane` of block row / taps lies, for tap row % taps.
inline size_t BlockedIndex(int64_t row, int64_t quads, int64_t i, int64_t lane) {
  const int64_t texel = (row * quads + i / 4) * 8 + i % 4 * 2 + lane / 4;
  return static_cast<size_t>(texel * 4 + lane % 4);
}
// The layer's weights with the group's constant scales and shifts in them.
Result<BlockedWeights> BlockWeights(const Layer& layer, const ConvolutionShape& shape, const ChannelAffine& affine);
// NotSupported where groups cut quads of the input or blocks of the output.
Status RequireWholeBlocks(const ConvolutionShape& shape);
// Kernel::ChooseLayouts of such kernels: data, addend and output in NC4HW4; the output may take the addend's place.
Status Channel4Products(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_BLOCKED_WEIGHTS_H_
