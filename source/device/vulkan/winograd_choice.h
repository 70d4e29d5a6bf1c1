// SPDX-License-Identifier: Apache-2.0
// Which 3x3 convolutions are computed by Winograd's algorithm, and in which tiles. PLUMB_VULKAN_WINOGRAD=off, 2 or 4
// overrides the rule where the algorithm applies at all.
#ifndef PLUMB_DEVICE_VULKAN_WINOGRAD_CHOICE_H_
#define PLUMB_DEVICE_VULKAN_WINOGRAD_CHOICE_H_

#include "device/kernel.h"
#include "op/convolution.h"

namespace plumb::vulkan {

// InvalidArgument when PLUMB_VULKAN_WINOGRAD is another word.
Status CheckWinogradEnvironment();
// 2 or 4: the outputs along a tile's edge. NotSupported, with the reason, where direct sums are taken.
Result<int64_t> ChooseWinogradTile(const KernelSpec& spec, const ConvolutionShape& shape);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_WINOGRAD_CHOICE_H_
