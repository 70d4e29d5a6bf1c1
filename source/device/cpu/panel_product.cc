// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/panel_product.h"

#include <algorithm>

#include "base/block_pool.h"
#include "base/cpu.h"
#include "base/threads.h"
#include "simd/transpose.h"

namespace plumb::cpu {
namespace {

// Blocks of 8 input channels whose weights, 16 KiB of a panel, stay in the first cache from one run of pixels to the
// next. AVX2 reads 64 KiB from the second cache as fast, 1 to 3 % less time than with sums that come in parts. With
// AVX-512 a run has 14 pixels in place of 6 and reads its weights so seldom that parts gain nothing.
int64_t PartBlocks() { return EffectiveIsa() == Isa::kAvx2 ? 128 : 32; }

// From so many pixels on they are read without being asked for (doc/x86.md); 49 lose 2 % by that.
constexpr int64_t kLeastOfOneMap = 64;

}  // namespace

PanelProduct::PanelProduct(int64_t pixels, int64_t in_channels, int64_t out_channels, const simd::ProductEnd& end)
    : pixels_(pixels),
      in_channels_(in_channels),
      in_blocks_(BlocksOf(in_channels)),
      out_blocks_(BlocksOf(out_channels)),
      panels_((out_blocks_ + 1) / 2),
      end_(end) {
  const int64_t pixel_bytes = in_blocks_ * ChannelBlock() * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = std::max<int64_t>(1, L2CacheBytes() / 2 / pixel_bytes);
  runs_ = std::max<int64_t>(1, (pixels_ + fitting - 1) / fitting);
  if (ChannelBlock() < 16) parts_ = std::max<int64_t>(1, (in_blocks_ + PartBlocks() - 1) / PartBlocks());
}

Result<PanelProduct> PanelProduct::Create(int64_t pixels, int64_t in_channels, int64_t out_channels,
                                          const float* weights, const WeightStrides& strides, const float* bias,
                                          const simd::ProductEnd& end) {
  PanelProduct product(pixels, in_channels, out_channels, end);
  PLUMB_RETURN_IF_ERROR(product.Pack(in_channels, out_channels, weights, strides, bias));
  return product;
}

Status PanelProduct::Pack(int64_t in_channels, int64_t out_channels, const float* weights, const WeightStrides& strides,
                          const float* bias) {
  const int64_t lanes = 2 * ChannelBlock(), depth = in_blocks_ * ChannelBlock();
  bias_.assign(static_cast<size_t>(panels_ * lanes), 0.0f);
  if (bias != nullptr) std::copy_n(bias, out_channels, bias_.begin());
  weights_ =
      std::static_pointer_cast<float>(AllocateBlock(static_cast<size_t>(panels_ * depth * lanes) * sizeof(float)));
  if (weights_ == nullptr) return Status::OutOfMemory("no memory to pack the weights of a layer");
  ParallelFor(panels_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * lanes, count = std::min(lanes, out_channels - first);
      float* to = weights_.get() + panel * depth * lanes;
      const float* from = weights + first * strides.out;
      if (count < lanes) std::fill_n(to, depth * lanes, 0.0f);
      if (strides.in == 1) {
        simd::Transpose(from, strides.out, count, in_channels, to, lanes);
      } else {
        for (int64_t c = 0; c < in_channels; ++c) {
          for (int64_t o = 0; o < count; ++o) to[c * lanes + o] = from[o * strides.out + c * strides.in];
        }
      }
      std::fill(to + in_channels * lanes, to + depth * lanes, 0.0f);
    }
  });
  return Status::Ok();
}

// Where the panel of the first pixel goes.
simd::PanelResult PanelProduct::ResultOf(int64_t panel, const float* addend, float* dst,
                                         const PixelStrides& strides) const {
  const int64_t at = 2 * panel * strides.block;
  simd::PanelResult result;
  result.blocks = static_cast<int>(std::min<int64_t>(2, out_blocks_ - 2 * panel));
  result.block_step = strides.block, result.pixel_step = strides.pixel;
  result.to = dst + at;
  result.addend = addend == nullptr ? nullptr : addend + at;
  result.end = end_;
  result.end.bias = bias_.data() + panel * 2 * ChannelBlock();
  return result;
}

// The first pixel's input, all of it, and the panel's weights.
simd::PanelSource PanelProduct::SourceOf(const Map& map, int64_t panel) const {
  const int64_t block = ChannelBlock();
  simd::PanelSource source;
  source.block = static_cast<int>(block), source.blocks = in_blocks_;
  source.last = static_cast<int>(in_channels_ % block);
  source.block_step = map.src_strides.block, source.pixel_step = map.src_strides.pixel;
  source.from = map.src;
  source.one_map = pixels_ >= kLeastOfOneMap;
  source.weights = weights_.get() + panel * in_blocks_ * block * 2 * block;
  return source;
}

void PanelProduct::RunPanel(const Map& map, int64_t panel, int64_t begin, int64_t end) const {
  const int64_t block = ChannelBlock();
  const bool dense = map.src_strides.pixel == block && map.dst_strides.pixel == block;
  const int64_t row = std::min(map.src_strides.row_pixels, map.dst_strides.row_pixels);
  for (int64_t part = 0; part < parts_; ++part) {
    const int64_t first_block = in_blocks_ * part / parts_, last_block = in_blocks_ * (part + 1) / parts_;
    const bool first_part = part == 0, last_part = part + 1 == parts_;
    simd::PanelSource source = SourceOf(map, panel);
    source.blocks = last_block - first_block;
    if (!last_part) source.last = 0;
    if (dense) source.pixel_step = 0;
    source.weights += first_block * block * 2 * block;
    source.next = last_part && panel + 1 == panels_ ? nullptr : source.weights + source.blocks * block * 2 * block;
    for (int64_t first = begin, count; first < end; first += count, source.next = nullptr) {
      count = std::min(end - first, row - first % row);
      source.from = map.src + map.src_strides.At(first) + first_block * map.src_strides.block;
      const int64_t at = map.dst_strides.At(first);
      const float* addend = map.addend == nullptr ? nullptr : map.addend + at;
      simd::PanelResult result = ResultOf(panel, addend, map.dst + at, map.dst_strides);
      if (dense) result.pixel_step = 0;
      if (!first_part) result.addend = result.to, result.end.bias = nullptr;
      if (!last_part) result.end.kind = simd::ProductEnd::Kind::kNone;
      simd::PanelPixels(count, source, result);
    }
  }
}

void PanelProduct::RunPixel(const Map& map, int threads) const {
  ParallelRegion(threads, [&](int thread, int count) {
    const int64_t begin = panels_ * thread / count, end = panels_ * (thread + 1) / count;
    const int64_t whole = std::min(end, out_blocks_ / 2);  // the last panel may have one block only
    simd::PanelPixel(whole - begin, SourceOf(map, begin), ResultOf(begin, map.addend, map.dst, map.dst_strides));
    if (end > whole) RunPanel(map, whole, 0, 1);
  });
}

void PanelProduct::Run(const Map& map, int threads) const {
  if (pixels_ == 1) return RunPixel(map, threads);
  const int64_t units = runs_ * panels_;
  ParallelRegion(threads, [&](int thread, int count) {
    for (int64_t u = units * thread / count; u < units * (thread + 1) / count; ++u) {
      const int64_t run = u / panels_;
      RunPanel(map, u % panels_, pixels_ * run / runs_, pixels_ * (run + 1) / runs_);
    }
  });
}

void PanelProduct::RunHere(const Map& map, int64_t pixels) const {
  for (int64_t panel = 0; panel < panels_; ++panel) RunPanel(map, panel, 0, pixels);
}

void PanelProduct::RunEmpty(int64_t count, const float* addend, float* dst, const PixelStrides& dst_strides,
                            int threads) const {
  simd::PanelSource nothing;
  nothing.block = ChannelBlock(), nothing.num_taps = 0, nothing.pixel_step = ChannelBlock();
  ParallelRegion(threads, [&](int thread, int all) {
    for (int64_t panel = panels_ * thread / all; panel < panels_ * (thread + 1) / all; ++panel)
      simd::PanelPixels(count, nothing, ResultOf(panel, addend, dst, dst_strides));
  });
}

}  // namespace plumb::cpu
