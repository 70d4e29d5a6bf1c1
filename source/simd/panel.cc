#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/panel.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/panel.h"
#include "simd/product_end-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

constexpr int64_t kLine = 16;  // floats of a cache line

// Accumulators, the weights of one factor and one pixel's factor fill the registers: 32 of AVX-512 and NEON, 16 of
// AVX2 and SSE4.
template <int kBlock>
constexpr int MostPanelRows() {
  constexpr int kVectors = 2 * kBlock / static_cast<int>(MaxLanes(CappedTag<float, kBlock>()));
  constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32 : 16;
  return (kRegisters - kVectors - 1) / kVectors;
}

static_assert(MostPanelRows<8>() <= kMaxPanelRows && MostPanelRows<16>() <= kMaxPanelRows);

template <int kBlock>
struct Panel {
  using Tag = CappedTag<float, kBlock>;
  static constexpr int kLanes = static_cast<int>(MaxLanes(Tag()));
  static constexpr int kVectors = 2 * kBlock / kLanes;
  using Vector = Vec<Tag>;
};

// kBare: nothing follows the sums.
template <bool kBare, bool kDense, int kBlock, int kRows>
HWY_INLINE void StorePanel(const typename Panel<kBlock>::Vector (&sum)[kRows][Panel<kBlock>::kVectors],
                           const PanelResult& result, int64_t first) {
  using P = Panel<kBlock>;
  const typename P::Tag d;
  constexpr int kPerBlock = kBlock / P::kLanes;
  const int64_t step = kDense ? kBlock : result.pixel_step;
#pragma GCC unroll 4
  for (int v = 0; v < P::kVectors; ++v) {
    if (v / kPerBlock >= result.blocks) break;
    const int64_t at = v / kPerBlock * result.block_step + v % kPerBlock * P::kLanes + first * step;
    const auto bias = kBare || result.end.bias == nullptr ? Zero(d) : LoadU(d, result.end.bias + v * P::kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      auto y = sum[r][v];
      if constexpr (!kBare) {
        y = Add(y, bias);
        if (result.addend != nullptr) y = Add(y, LoadU(d, result.addend + at + r * step));
        y = EndOf(d, y, result.end);
      }
      StoreU(y, d, result.to + at + r * step);
    }
  }
}

// One input channel's part of all sums.
template <int kBlock, int kRows>
HWY_INLINE void AddChannel(const float* from, int64_t step, const float* weights,
                           typename Panel<kBlock>::Vector (&sum)[kRows][Panel<kBlock>::kVectors]) {
  using P = Panel<kBlock>;
  const typename P::Tag d;
  typename P::Vector w[P::kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < P::kVectors; ++v) w[v] = LoadU(d, weights + v * P::kLanes);
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    const auto factor = Set(d, from[r * step]);
#pragma GCC unroll 4
    for (int v = 0; v < P::kVectors; ++v) sum[r][v] = MulAdd(factor, w[v], sum[r][v]);
  }
}

// kDense: pixels lie next to each other, in blocks.
template <bool kDense, int kBlock, int kRows>
HWY_NOINLINE void RunPanelRows(const PanelSource& source, const PanelResult& result, int64_t first, const float* next,
                               int64_t lines) {
  using P = Panel<kBlock>;
  const typename P::Tag d;
  typename P::Vector sum[kRows][P::kVectors];
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < P::kVectors; ++v) sum[r][v] = Zero(d);
  }
  const int64_t step = kDense ? kBlock : source.pixel_step;
  const float* weights = source.weights;
  const float* from = source.from + first * step;
  const int64_t whole = source.blocks - (source.last > 0 ? 1 : 0);
  for (int64_t block = 0; block < whole; ++block, from += source.block_step) {
    for (int64_t i = 0; i < lines; ++i, next += kLine) __builtin_prefetch(next, 0, 2);
    if constexpr (kDense) {
#pragma GCC unroll 14
      for (int r = 0; r < kRows * kBlock; r += kLine) __builtin_prefetch(from + source.block_step + r);
    }
#pragma GCC unroll 4
    for (int lane = 0; lane < kBlock; ++lane, weights += 2 * kBlock)
      AddChannel<kBlock, kRows>(from + lane, step, weights, sum);
  }
  for (int lane = 0; lane < source.last; ++lane, weights += 2 * kBlock)
    AddChannel<kBlock, kRows>(from + lane, step, weights, sum);
  const bool bare =
      result.addend == nullptr && result.end.bias == nullptr && result.end.kind == ProductEnd::Kind::kNone;
  bare ? StorePanel<true, kDense, kBlock, kRows>(sum, result, first)
       : StorePanel<false, kDense, kBlock, kRows>(sum, result, first);
}

template <bool kDense, int kBlock>
void RunPanelOf(int rows, const PanelSource& source, const PanelResult& result, int64_t first, const float* next,
                int64_t lines) {
#define PLUMB_PANEL_ROWS(n)                                                       \
  case n:                                                                         \
    if constexpr (n <= MostPanelRows<kBlock>())                                   \
      return RunPanelRows<kDense, kBlock, n>(source, result, first, next, lines); \
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

int RunMostPanelRows(int block) { return block == 16 ? MostPanelRows<16>() : MostPanelRows<8>(); }

void RunPanelPixels(int64_t pixels, const PanelSource& source, const PanelResult& result) {
  const int64_t most = RunMostPanelRows(source.block), runs = (pixels + most - 1) / most;
  // Lines of the next weights that each block of each run asks for, so that the runs together ask for all.
  const int64_t all = 2 * source.block * source.block / kLine;
  const int64_t lines = source.next == nullptr ? 0 : (all + runs - 1) / runs;
  const bool dense = source.pixel_step == 0 && result.pixel_step == 0;
  const auto run = source.block == 16 ? (dense ? RunPanelOf<true, 16> : RunPanelOf<false, 16>)
                                      : (dense ? RunPanelOf<true, 8> : RunPanelOf<false, 8>);
  for (int64_t i = 0; i < runs; ++i) {
    const int64_t first = pixels * i / runs;
    const int rows = static_cast<int>(pixels * (i + 1) / runs - first);
    const bool more = i * lines < all;
    const float* next = more && lines > 0 ? source.next + i * lines * source.blocks * kLine : nullptr;
    run(rows, source, result, first, next, more ? lines : 0);
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunMostPanelRows);
HWY_EXPORT(RunPanelPixels);

int PanelRows(int block) { return PLUMB_SIMD_CALL(RunMostPanelRows)(block); }

void PanelPixels(int64_t pixels, const PanelSource& source, const PanelResult& result) {
  PLUMB_SIMD_CALL(RunPanelPixels)(pixels, source, result);
}

}  // namespace plumb::simd
#endif
