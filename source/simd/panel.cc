// SPDX-License-Identifier: Apache-2.0
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/panel.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/panel.h"
#include "simd/product_end-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

constexpr int64_t kLine = 16;  // floats of a cache line

// Accumulators, the weights of one factor and one pixel's factor fill the registers: 32 of AVX-512 and NEON, 16 of
// AVX2 and SSE4.
constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32 : 16;

// A panel, or its first block alone, which then has about twice the pixels.
template <int kBlock, int kBlocks>
struct Panel {
  using Tag = CappedTag<float, kBlock>;
  using Vector = Vec<Tag>;
  static constexpr int kLanes = static_cast<int>(MaxLanes(Tag()));
  static constexpr int kVectors = kBlocks * kBlock / kLanes;
  static constexpr int kMostRows = std::clamp((kRegisters - kVectors - 1) / kVectors, 1, kMaxPanelRows);
};

// The bias, from which the sums begin: one operation less for each than with the bias behind them.
template <class P, int kRows>
HWY_INLINE void BeginSums(const float* bias, typename P::Vector (&sum)[kRows][P::kVectors]) {
  const typename P::Tag d;
#pragma GCC unroll 4
  for (int v = 0; v < P::kVectors; ++v) {
    const auto begin = LoadU(d, bias + v * P::kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) sum[r][v] = begin;
  }
}

HWY_ALIGN inline constexpr float kNoBias[2 * 16] = {};

inline const float* BiasOf(const PanelResult& result) { return result.end.bias == nullptr ? kNoBias : result.end.bias; }

// What follows the sums while they are in registers: nothing, the lower bound alone, or both.
enum class PanelClamp { kNone, kLow, kBoth };

template <class P, bool kAdds, PanelClamp kClamp, bool kDense, int kBlock, int kRows>
HWY_INLINE void StoreSums(const typename P::Vector (&sum)[kRows][P::kVectors], const PanelResult& result,
                          int64_t first) {
  const typename P::Tag d;
  constexpr int kPerBlock = kBlock / P::kLanes;
  const int64_t step = kDense ? kBlock : result.pixel_step;
  const auto low = Set(d, result.end.alpha), high = Set(d, result.end.beta);
#pragma GCC unroll 4
  for (int v = 0; v < P::kVectors; ++v) {
    const int64_t at = v / kPerBlock * result.block_step + v % kPerBlock * P::kLanes + first * step;
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      auto y = sum[r][v];
      if constexpr (kAdds) y = Add(y, LoadU(d, result.addend + at + r * step));
      if constexpr (kClamp == PanelClamp::kLow) y = AtLeast(y, low);
      if constexpr (kClamp == PanelClamp::kBoth) y = ClampV(y, low, high);
      StoreU(y, d, result.to + at + r * step);
    }
  }
}

// What follows sums that are stored, but for a clamp: a function of its own, whose calls would spill sums.
template <class Tag, int kBlock, int kBlocks>
HWY_NOINLINE void EndStored(const PanelResult& result, int64_t step, int64_t first, int64_t rows) {
  const Tag d;
  for (int b = 0; b < kBlocks; ++b) {
    float* to = result.to + b * result.block_step + first * step;
    for (int64_t r = 0; r < rows; ++r, to += step) {
      if (result.end.kind == ProductEnd::Kind::kSwish) {
        SwishAll(to, kBlock);
        continue;
      }
      for (int i = 0; i < kBlock; i += static_cast<int>(MaxLanes(d)))
        StoreU(EndOf(d, LoadU(d, to + i), result.end), d, to + i);
    }
  }
}

template <class P, bool kAdds, bool kDense, int kBlock, int kRows>
HWY_INLINE void StoreClamped(const typename P::Vector (&sum)[kRows][P::kVectors], const PanelResult& result,
                             int64_t first) {
  if (result.end.kind != ProductEnd::Kind::kClip) {
    StoreSums<P, kAdds, PanelClamp::kNone, kDense, kBlock, kRows>(sum, result, first);
  } else if (result.end.beta == HUGE_VALF) {
    StoreSums<P, kAdds, PanelClamp::kLow, kDense, kBlock, kRows>(sum, result, first);
  } else {
    StoreSums<P, kAdds, PanelClamp::kBoth, kDense, kBlock, kRows>(sum, result, first);
  }
}

template <class P, bool kDense, int kBlock, int kBlocks, int kRows>
HWY_INLINE void StorePanel(const typename P::Vector (&sum)[kRows][P::kVectors], const PanelResult& result,
                           int64_t first) {
  if (result.addend != nullptr) {
    StoreClamped<P, true, kDense, kBlock, kRows>(sum, result, first);
  } else {
    StoreClamped<P, false, kDense, kBlock, kRows>(sum, result, first);
  }
  if (result.end.kind != ProductEnd::Kind::kClip && result.end.kind != ProductEnd::Kind::kNone)
    EndStored<typename P::Tag, kBlock, kBlocks>(result, kDense ? kBlock : result.pixel_step, first, kRows);
}

// The lines that the sums go to, which come from the third cache or from memory while the sums are made: 1 % of
// mobilenet_v1's time with AVX2; elsewhere not measured.
template <int kBlock, int kBlocks, int kRows>
HWY_INLINE void FetchResult(const PanelResult& result, int64_t first) {
#pragma GCC unroll 2
  for (int b = 0; b < kBlocks; ++b) {
    const float* to = result.to + b * result.block_step + first * kBlock;
#pragma GCC unroll 14
    for (int r = 0; r < kRows * kBlock; r += kLine) __builtin_prefetch(to + r, 1);
  }
}

// sum += x * w. Of an intrinsic GCC moves sums from register to register, and spills one, 2 % of a product's time.
template <class V>
HWY_INLINE void Accumulate(V x, V w, V* sum) {
#if HWY_TARGET == HWY_AVX2
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum->raw) : "x"(x.raw), "x"(w.raw));
#else
  *sum = MulAdd(x, w, *sum);
#endif
}

// Where the pixels' next channels lie. kDense: a block apart; otherwise each has a pointer, because GCC keeps one for
// each pixel and channel, in memory, where it is given a pointer and a step.
template <bool kDense, int kBlock, int kRows>
struct PixelPointers {
  static constexpr int kCount = std::min(kRows, kDense ? 1 : kMaxPanelRows);
  const float* at[kCount];

  HWY_INLINE PixelPointers(const float* from, int64_t step) {
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) at[r] = from + r * step;
  }
  HWY_INLINE float Value(int r, int channel) const {
    return kDense ? at[0][r * kBlock + channel] : at[kDense ? 0 : r][channel];
  }
  HWY_INLINE void Advance(int64_t by) {
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) at[r] += by;
  }
};

// One input channel's part of all sums.
template <class P, int kRows, class Pixels>
HWY_INLINE void AddChannel(const Pixels& pixels, int channel, const float* weights,
                           typename P::Vector (&sum)[kRows][P::kVectors]) {
  const typename P::Tag d;
  typename P::Vector w[P::kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < P::kVectors; ++v) w[v] = LoadU(d, weights + v * P::kLanes);
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    const auto factor = Set(d, pixels.Value(r, channel));
#pragma GCC unroll 4
    for (int v = 0; v < P::kVectors; ++v) Accumulate(factor, w[v], &sum[r][v]);
  }
}

// kFetches: the next block's pixels are asked for while this one's are multiplied.
// Runs [begin, end) of kRows pixels, from pixel `first` on. Each block of each run asks for `lines` lines of the next
// weights, until all `fetching` runs together have asked for all. kDense: pixels lie next to each other, in blocks.
struct PanelRuns {
  int64_t first, begin, end, lines, fetching;
};

template <bool kDense, bool kFetches, int kBlock, int kBlocks, int kRows>
HWY_NOINLINE void RunPanelRows(const PanelSource& any_source, const PanelResult& any_result,
                               const PanelRuns& all_runs) {
  const PanelSource source = any_source;  // copies, which no store of a sum can change
  const PanelResult result = any_result;
  const PanelRuns runs = all_runs;
  using P = Panel<kBlock, kBlocks>;
  // Channels at a time; more make GCC move accumulators.
  constexpr int kApart = HWY_ARCH_X86 && HWY_TARGET != HWY_AVX2 ? 2 : 1;
  constexpr int kUnrolled = HWY_ARCH_X86 && kDense ? 8 : kApart;
  const int64_t step = kDense ? kBlock : source.pixel_step;
  const int64_t whole = source.blocks - (source.last > 0 ? 1 : 0);
  const float* const bias = BiasOf(result);
  int64_t first = runs.first;
  for (int64_t run = runs.begin; run < runs.end; ++run, first += kRows) {
    typename P::Vector sum[kRows][P::kVectors];
    BeginSums<P, kRows>(bias, sum);
    if constexpr (kDense && HWY_TARGET == HWY_AVX2) FetchResult<kBlock, kBlocks, kRows>(result, first);
    const int64_t lines = run < runs.fetching ? runs.lines : 0;
    const float* next = source.next + run * lines * source.num_taps * source.blocks * kLine;
    const float* weights = source.weights;
    using Pixels = PixelPointers<kDense, kBlock, kRows>;
    if (source.blocks == 0) {
      const float* from = source.from + first * step;
#pragma GCC unroll 4
      for (int64_t tap = 0; tap < source.num_taps; ++tap, weights += 2 * kBlock)
        AddChannel<P, kRows>(Pixels(from + source.taps[tap], step), 0, weights, sum);
    }
    for (int64_t tap = 0; source.blocks > 0 && tap < source.num_taps; ++tap) {
      const float* from = source.from + (source.taps == nullptr ? 0 : source.taps[tap]) + first * step;
      Pixels pixels(from, step);
      for (int64_t block = 0; block < whole; ++block, pixels.Advance(source.block_step)) {
        for (int64_t i = 0; i < lines; ++i, next += kLine) __builtin_prefetch(next, 0, 2);
        if constexpr (kDense && kFetches) {
#pragma GCC unroll 14
          for (int r = 0; r < kRows * kBlock; r += kLine) __builtin_prefetch(pixels.at[0] + source.block_step + r);
        }
        for (int lane = 0; lane < kBlock; lane += kUnrolled) {
#pragma GCC unroll 8
          for (int i = 0; i < kUnrolled; ++i, weights += 2 * kBlock)
            AddChannel<P, kRows>(pixels, lane + i, weights, sum);
        }
      }
      for (int lane = 0; lane < source.last; ++lane, weights += 2 * kBlock)
        AddChannel<P, kRows>(pixels, lane, weights, sum);
      if (source.last > 0) weights += (kBlock - source.last) * 2 * kBlock;
    }
    StorePanel<P, kDense, kBlock, kBlocks, kRows>(sum, result, first);
  }
}

template <bool kDense, bool kFetches, int kBlock, int kBlocks>
void RunPanelOf(int64_t rows, const PanelSource& source, const PanelResult& result, const PanelRuns& runs) {
#define PLUMB_PANEL_ROWS(n)                                                            \
  case n:                                                                              \
    if constexpr (n <= Panel<kBlock, kBlocks>::kMostRows)                              \
      return RunPanelRows<kDense, kFetches, kBlock, kBlocks, n>(source, result, runs); \
    break;
  switch (rows) {
    PLUMB_PANEL_ROWS(1)
    PLUMB_PANEL_ROWS(2)
    PLUMB_PANEL_ROWS(3)
    PLUMB_PANEL_ROWS(4)
    PLUMB_PANEL_ROWS(5)
    PLUMB_PANEL_ROWS(6)
    PLUMB_PANEL_ROWS(7)
    PLUMB_PANEL_ROWS(8)
    PLUMB_PANEL_ROWS(9)
    PLUMB_PANEL_ROWS(10)
    PLUMB_PANEL_ROWS(11)
    PLUMB_PANEL_ROWS(12)
    PLUMB_PANEL_ROWS(13)
    PLUMB_PANEL_ROWS(14)
    default: break;
  }
#undef PLUMB_PANEL_ROWS
}

template <int kBlock, int kBlocks>
void RunPanelPixelsOf(int64_t pixels, const PanelSource& source, const PanelResult& result) {
  const int64_t most = Panel<kBlock, kBlocks>::kMostRows, count = (pixels + most - 1) / most;
  const int64_t rows = count == 0 ? 0 : pixels / count, longer = pixels - rows * count;
  constexpr int64_t kLines = 2 * kBlock * kBlock / kLine;  // of a block's weights
  const int64_t lines = source.next == nullptr ? 0 : (kLines + count - 1) / count;
  const int64_t fetching = lines == 0 ? 0 : (kLines + lines - 1) / lines;
  const bool dense = source.pixel_step == 0 && result.pixel_step == 0;
  constexpr bool kAlways = HWY_TARGET != HWY_AVX2;
  const auto run = !dense           ? RunPanelOf<false, true, kBlock, kBlocks>
                   : source.one_map ? RunPanelOf<true, kAlways, kBlock, kBlocks>
                                    : RunPanelOf<true, true, kBlock, kBlocks>;
  if (longer > 0) run(rows + 1, source, result, {0, 0, longer, lines, fetching});
  if (rows > 0) run(rows, source, result, {longer * (rows + 1), longer, count, lines, fetching});
}

// kPanels panels, whose weights the CPU has under way together.
template <int kBlock, int kPanels>
HWY_NOINLINE void RunPixelPanels(const PanelSource& source, const PanelResult& result) {
  using P = Panel<kBlock, 2>;
  const int64_t step = source.blocks * kBlock * 2 * kBlock;
  typename P::Vector sum[kPanels][1][P::kVectors];
  const bool biased = result.end.bias != nullptr;
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) BeginSums<P, 1>(biased ? result.end.bias + p * 2 * kBlock : kNoBias, sum[p]);
  const float *from = source.from, *weights = source.weights;
  for (int64_t block = 0; block < source.blocks; ++block, from += source.block_step) {
    const bool cut = source.last > 0 && block + 1 == source.blocks;
    const PixelPointers<true, kBlock, 1> pixel(from, 0);
    for (int lane = 0; lane < (cut ? source.last : kBlock); ++lane, weights += 2 * kBlock) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) AddChannel<P, 1>(pixel, lane, weights + p * step, sum[p]);
    }
  }
  PanelResult to = result;
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    StorePanel<P, false, kBlock, 2, 1>(sum[p], to, 0);
    to.to += 2 * result.block_step;
    if (to.addend != nullptr) to.addend += 2 * result.block_step;
  }
}

template <int kBlock>
void RunPanelPixelOf(int64_t panels, PanelSource source, PanelResult result) {
  for (int64_t count; panels > 0; panels -= count) {
    count = panels >= 4 ? 4 : std::min<int64_t>(panels, 2);
    const auto run = count == 4   ? RunPixelPanels<kBlock, 4>
                     : count == 2 ? RunPixelPanels<kBlock, 2>
                                  : RunPixelPanels<kBlock, 1>;
    run(source, result);
    source.weights += count * source.blocks * kBlock * 2 * kBlock;
    result.to += count * 2 * result.block_step;
    if (result.addend != nullptr) result.addend += count * 2 * result.block_step;
    if (result.end.bias != nullptr) result.end.bias += count * 2 * kBlock;
  }
}

void RunPanelPixel(int64_t panels, const PanelSource& source, const PanelResult& result) {
  source.block == 16 ? RunPanelPixelOf<16>(panels, source, result) : RunPanelPixelOf<8>(panels, source, result);
}

int RunMostPanelRows(int block) { return block == 16 ? Panel<16, 2>::kMostRows : Panel<8, 2>::kMostRows; }

void RunPanelPixels(int64_t pixels, const PanelSource& source, const PanelResult& result) {
  const bool whole = result.blocks == 2;
  if (source.block == 16)
    return whole ? RunPanelPixelsOf<16, 2>(pixels, source, result) : RunPanelPixelsOf<16, 1>(pixels, source, result);
  whole ? RunPanelPixelsOf<8, 2>(pixels, source, result) : RunPanelPixelsOf<8, 1>(pixels, source, result);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunMostPanelRows);
HWY_EXPORT(RunPanelPixels);
HWY_EXPORT(RunPanelPixel);

int PanelRows(int block) { return PLUMB_SIMD_CALL(RunMostPanelRows)(block); }

void PanelPixels(int64_t pixels, const PanelSource& source, const PanelResult& result) {
  PLUMB_SIMD_CALL(RunPanelPixels)(pixels, source, result);
}

void PanelPixel(int64_t panels, const PanelSource& source, const PanelResult& result) {
  PLUMB_SIMD_CALL(RunPanelPixel)(panels, source, result);
}

}  // namespace plumb::simd
#endif
