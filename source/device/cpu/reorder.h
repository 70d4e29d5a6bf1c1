// SPDX-License-Identifier: Apache-2.0
// Moves feature maps between C order (NCHW) and channel blocks (N, C/block, H*W, block), see onednn.h.
#ifndef PLUMB_DEVICE_CPU_REORDER_H_
#define PLUMB_DEVICE_CPU_REORDER_H_

#include <cstdint>

#include "device/cpu/product.h"

namespace plumb::cpu {

// A feature map of rank >= 2 as the kernels see it; pixels = product of the dims behind the channel.
struct MapShape {
  int64_t batch = 0, channels = 0, pixels = 0;

  int64_t Blocks(int block) const { return (channels + block - 1) / block; }
  // Elements of one image in memory.
  int64_t ImageElements(Format format, int block) const {
    return pixels * (format == Format::kBlocked ? Blocks(block) * block : channels);
  }
};

// Copies `map` from one format to the other; image strides in elements. Lanes behind the last channel of a block become
// 0.
void ToBlocked(const MapShape& map, int block, const float* src, int64_t src_image, float* dst, int64_t dst_image);
void ToPlain(const MapShape& map, int block, const float* src, int64_t src_image, float* dst, int64_t dst_image);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_REORDER_H_
