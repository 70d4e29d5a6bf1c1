#include "device/x86/format.h"

#include <algorithm>

#include "base/threads.h"

namespace plumb::x86 {
namespace {

constexpr int64_t kTile = 64;  // pixels at once: 64 * 16 floats stay in the first cache level

template <int kBlock>
void BlockFromPlain(const float* src, int64_t pixels, int channels, float* dst) {
  for (int64_t tile = 0; tile < pixels; tile += kTile) {
    const int64_t count = std::min(kTile, pixels - tile);
    float* out = dst + tile * kBlock;
    for (int c = 0; c < channels; ++c) {
      const float* in = src + c * pixels + tile;
      for (int64_t p = 0; p < count; ++p) out[p * kBlock + c] = in[p];
    }
    for (int c = channels; c < kBlock; ++c) {
      for (int64_t p = 0; p < count; ++p) out[p * kBlock + c] = 0;
    }
  }
}

template <int kBlock>
void PlainFromBlock(const float* src, int64_t pixels, int channels, float* dst) {
  for (int64_t tile = 0; tile < pixels; tile += kTile) {
    const int64_t count = std::min(kTile, pixels - tile);
    const float* in = src + tile * kBlock;
    for (int c = 0; c < channels; ++c) {
      float* out = dst + c * pixels + tile;
      for (int64_t p = 0; p < count; ++p) out[p] = in[p * kBlock + c];
    }
  }
}

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
    block == 16 ? BlockFromPlain<16>(in, map.pixels, channels, out) : BlockFromPlain<8>(in, map.pixels, channels, out);
  });
}

void ToPlain(const MapShape& map, int block, const float* src, int64_t src_image, float* dst, int64_t dst_image) {
  ForEachBlock(map, block, [&](int64_t image, int64_t index, int channels) {
    const float* in = src + image * src_image + index * block * map.pixels;
    float* out = dst + image * dst_image + index * block * map.pixels;
    block == 16 ? PlainFromBlock<16>(in, map.pixels, channels, out) : PlainFromBlock<8>(in, map.pixels, channels, out);
  });
}

}  // namespace plumb::x86
