// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/reorder.h"

#include <algorithm>

#include "base/threads.h"
#include "simd/transpose.h"

namespace plumb::cpu {
namespace {

// Calls one(image, channel block, channels in it) for every block, on all threads when the map is worth it.
template <class F>
void ForEachBlock(const MapShape& map, int block, F&& one) {
  const int64_t blocks = map.Blocks(block);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, map.pixels * block));
  ParallelFor(map.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * block;
      one(i / blocks, i % blocks, static_cast<int>(std::min<int64_t>(block, map.channels - first)));
    }
  });
}

}  // namespace

void ToBlocked(const MapShape& map, int block, const float* src, int64_t src_image, float* dst, int64_t dst_image) {
  ForEachBlock(map, block, [&](int64_t image, int64_t index, int channels) {
    const float* in = src + image * src_image + index * block * map.pixels;
    float* out = dst + image * dst_image + index * block * map.pixels;
    simd::ToBlocked(block, in, map.pixels, channels, map.pixels, out);
  });
}

void ToPlain(const MapShape& map, int block, const float* src, int64_t src_image, float* dst, int64_t dst_image) {
  ForEachBlock(map, block, [&](int64_t image, int64_t index, int channels) {
    const float* in = src + image * src_image + index * block * map.pixels;
    float* out = dst + image * dst_image + index * block * map.pixels;
    simd::ToPlain(block, in, channels, map.pixels, out, map.pixels);
  });
}

}  // namespace plumb::cpu
