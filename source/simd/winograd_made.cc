// SPDX-License-Identifier: Apache-2.0
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/winograd_made.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/winograd_made.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// Rows of the run that makes the weights; as in panel.cc sums, weights and a factor fill the registers, and more than 8
// would leave the runs after it uneven on small maps.
template <int kBlock>
constexpr int MakingRows() {
  constexpr int kVectors = 2 * kBlock / static_cast<int>(MaxLanes(CappedTag<float, kBlock>()));
  constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32 : 16;
  return std::min((kRegisters - kVectors - 1) / kVectors, 8);
}

template <int kBlock>
HWY_NOINLINE void MakingRun(const PanelSource& source, const MadeWeights& weights, const PanelResult& result) {
  const CappedTag<float, kBlock> d;
  constexpr int kLanes = static_cast<int>(MaxLanes(d)), kVectors = 2 * kBlock / kLanes, kRows = MakingRows<kBlock>();
  Vec<decltype(d)> sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Zero(d);
  }
  int64_t at = 0;
  for (int64_t block = 0; block < source.blocks; ++block) {
    const float* from = source.from + block * source.block_step;
    const int channels = source.last > 0 && block + 1 == source.blocks ? source.last : kBlock;
#pragma GCC unroll 8
    for (int r = 0; r < kRows * kBlock; r += 16) __builtin_prefetch(from + source.block_step + r);
#pragma GCC unroll 4
    for (int channel = 0; channel < channels; ++channel, at += 2 * kBlock) {
      Vec<decltype(d)> w[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t i = at + v * kLanes;
        w[v] = Sub(LoadU(d, weights.a + i), Add(LoadU(d, weights.b + i), LoadU(d, weights.c + i)));
        StoreU(w[v], d, weights.made + i);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto factor = Set(d, from[channel + r * kBlock]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[r][v] = MulAdd(factor, w[v], sum[r][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    float* to = result.to + v * kLanes / kBlock * result.block_step + v * kLanes % kBlock;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) StoreU(sum[r][v], d, to + r * kBlock);
  }
}

// Fewer pixels than that run has.
void MakeAlone(int64_t count, const MadeWeights& weights) {
  const F32 d;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(Lanes(d))) {
    const V32 others = Add(LoadU(d, weights.b + i), LoadU(d, weights.c + i));
    StoreU(Sub(LoadU(d, weights.a + i), others), d, weights.made + i);
  }
}

// How many pixels it has computed.
int64_t RunMade(int64_t pixels, const PanelSource& source, const MadeWeights& weights, const PanelResult& result) {
  const int64_t rows = source.block == 16 ? MakingRows<16>() : MakingRows<8>();
  if (pixels < rows) {
    MakeAlone(source.blocks * source.block * 2 * source.block, weights);
    return 0;
  }
  source.block == 16 ? MakingRun<16>(source, weights, result) : MakingRun<8>(source, weights, result);
  return rows;
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunMade);

void MadePixels(int64_t pixels, const PanelSource& source, const MadeWeights& weights, const PanelResult& result) {
  const int64_t done = PLUMB_SIMD_CALL(RunMade)(pixels, source, weights, result);
  PanelSource rest = source;
  rest.from += done * source.block, rest.weights = weights.made;
  PanelResult to = result;
  to.to += done * source.block;
  if (done < pixels) PanelPixels(pixels - done, rest, to);
}

}  // namespace plumb::simd
#endif
