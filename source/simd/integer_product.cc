// SPDX-License-Identifier: Apache-2.0
// A tile of rows x 16 columns stays in registers for all of k: pairs of a row are broadcast beside pairs of the panel.
// 8-bit panels are widened as they are read, or once where many rows follow.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/integer_product.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/integer_product.h"
#include "simd/integer_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && (HWY_ARCH_X86 || HWY_ARCH_ARM_A64)

using I16 = ScalableTag<int16_t>;
// Which products ReorderWidenMulAccumulate adds up is open: on x86 it is pmaddwd, those of neighbours; on ARM those of
// the lower half and of the upper half go to sums of their own, whose neighbours are added up at the end.
constexpr bool kHalves = !HWY_ARCH_X86;
// As registers allow.
constexpr int kTileRows = HWY_TARGET == HWY_AVX3 ? 12 : HWY_TARGET == HWY_AVX2 ? 6 : kHalves ? 3 : 2;
constexpr int kBeside = 8 / kPanelVectors;  // that a single row is multiplied with at once

HWY_INLINE Vec<I16> LoadPanel(I16 d, const int16_t* from) { return LoadU(d, from); }
HWY_INLINE Vec<I16> LoadPanel(I16 d, const int8_t* from) { return PromoteTo(d, LoadU(Rebind<int8_t, I16>(), from)); }

// Without the pragmas GCC keeps the accumulators in memory at -O2.
// A tile is kRows rows by kPanels panels, which are pairs * 32 values apart; sums [row][panel][column].
template <int kRows, int kPanels, class T>
HWY_INLINE void SumTile(const int16_t* a, int64_t stride, int64_t pairs, const T* panel, int32_t* sums) {
  const I32 d;
  const I16 wide;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  constexpr int kAll = kPanels * kPanelVectors;
  const int64_t next = 2 * kPanelColumns * pairs;
  Vec<I32> sum[kRows][kAll], upper[1 + kHalves * (kRows - 1)][1 + kHalves * (kAll - 1)];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kAll; ++v) sum[r][v] = upper[kHalves ? r : 0][kHalves ? v : 0] = Zero(d);
  }
  for (int64_t p = 0; p < pairs; ++p, panel += 2 * kPanelColumns) {
    Vec<I16> b[kAll];
#pragma GCC unroll 16
    for (int v = 0; v < kAll; ++v)
      b[v] = LoadPanel(wide, panel + v / kPanelVectors * next + 2 * (v % kPanelVectors) * lanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int32_t pair;
      std::memcpy(&pair, a + r * stride + 2 * p, sizeof(pair));
      const auto x = BitCast(wide, Set(d, pair));
#pragma GCC unroll 16
      for (int v = 0; v < kAll; ++v)
        sum[r][v] = ReorderWidenMulAccumulate(d, x, b[v], sum[r][v], upper[kHalves ? r : 0][kHalves ? v : 0]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kAll; ++v) {
      Vec<I32> all = sum[r][v];
#if !HWY_ARCH_X86
      all = Add(ConcatEven(d, upper[r][v], all), ConcatOdd(d, upper[r][v], all));
#endif
      Store(all, d, sums + r * kPanels * kPanelColumns + v * lanes);
    }
  }
}

#else

constexpr int kTileRows = 1, kBeside = 1;

template <int kRows, int kPanels, class T>
void SumTile(const int16_t* a, int64_t stride, int64_t pairs, const T* panel, int32_t* sums) {
  for (int64_t i = 0; i < kRows * kPanels * kPanelColumns; ++i) {
    const int16_t* row = a + i / (kPanels * kPanelColumns) * stride;
    const T* of = panel + i / kPanelColumns % kPanels * 2 * kPanelColumns * pairs;
    uint32_t sum = 0;
    for (int64_t k = 0; k < 2 * pairs; ++k) {
      const T b = of[(k / 2 * kPanelColumns + i % kPanelColumns) * 2 + k % 2];
      sum += static_cast<uint32_t>(int32_t{row[k]} * int32_t{b});
    }
    sums[i] = static_cast<int32_t>(sum);
  }
}

#endif

// Panels of pairs, of 8 or 16 bits.
template <class T>
struct PairTiles {
  using Factors = IntegerFactors;
  using Value = T;
  static constexpr int kRows = kTileRows, kPanelsBeside = kBeside;

  static int64_t PanelValues(const IntegerFactors& f) { return 2 * f.pairs * kPanelColumns; }
  template <int kTile, int kPanels>
  static HWY_INLINE void Sum(const IntegerFactors& f, int64_t row, int64_t, const T* panels, int32_t* sums) {
    SumTile<kTile, kPanels>(f.a + row * f.a_stride, f.a_stride, f.pairs, panels, sums);
  }
};

// n: whole panels, so whole vectors.
void Widen(const int8_t* src, int64_t n, int16_t* dst) {
  const CappedTag<int16_t, 2 * kPanelColumns> wide;
  const Rebind<int8_t, decltype(wide)> narrow;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(Lanes(wide)))
    StoreU(PromoteTo(wide, LoadU(narrow, src + i)), wide, dst + i);
}

template <class Sink>
HWY_INLINE void MultiplyPanels(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch,
                               const Sink& sink) {
  if (f.rows == 1 && f.wide != nullptr) return MultiplyRow<PairTiles<int16_t>>(f, f.wide, first, last, sink);
  if (f.rows == 1) return MultiplyRow<PairTiles<int8_t>>(f, f.narrow, first, last, sink);
  const int64_t values = 2 * f.pairs * kPanelColumns;
  const bool widen = f.wide == nullptr && f.rows > 2 * kTileRows;
  for (int64_t i = first; i < last; ++i) {
    const int64_t column = i * kPanelColumns;
    if (widen) Widen(f.narrow + i * values, values, scratch);
    if (f.wide == nullptr && !widen) {
      MultiplyRows<PairTiles<int8_t>, 1>(f, f.narrow + i * values, column, sink);
    } else {
      MultiplyRows<PairTiles<int16_t>, 1>(f, widen ? scratch : f.wide + i * values, column, sink);
    }
  }
}

void RunMultiply(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch, int32_t* y) {
  MultiplyPanels(f, first, last, scratch, StoreSums{y});
}

void RunMultiplyScaled(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch, const SumTail& tail,
                       float* y) {
  MultiplyPanels(f, first, last, scratch, StoreScaled{tail, y});
}

void RunPackPanels(const int16_t* b, int64_t k, int64_t n, int64_t first_pair, int64_t last_pair, int16_t* panels) {
  const CappedTag<int16_t, kPanelColumns> d;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  const int64_t panel = PanelValues(k), whole = n / kPanelColumns * kPanelColumns;
  for (int64_t p = first_pair; p < last_pair; ++p) {
    const int16_t *upper = b + 2 * p * n, *lower = 2 * p + 1 < k ? upper + n : nullptr;
    int16_t* to = panels + p * kPanelColumns * 2;
    for (int64_t j = 0; j < whole; j += lanes) {
      const auto second = lower == nullptr ? Zero(d) : LoadU(d, lower + j);
      StoreInterleaved2(LoadU(d, upper + j), second, d, to + j / kPanelColumns * panel + j % kPanelColumns * 2);
    }
    if (whole == n) continue;
    to += whole / kPanelColumns * panel;
    std::fill(to, to + 2 * kPanelColumns, int16_t{0});
    for (int64_t j = whole; j < n; ++j) {
      to[2 * (j - whole)] = upper[j];
      to[2 * (j - whole) + 1] = lower == nullptr ? int16_t{0} : lower[j];
    }
  }
}

// dst = src + add; false where that plus `half` does not fit T.
template <class T>
HWY_INLINE bool Narrow(const int64_t* src, uint64_t add, uint64_t half, T* dst, size_t n) {
  const ScalableTag<uint64_t> d;
  const Rebind<T, decltype(d)> narrow;
  auto bits = Zero(d);  // of all sums
  size_t i = 0;
  for (; i + Lanes(d) <= n; i += Lanes(d)) {
    const auto value = Add(LoadU(d, reinterpret_cast<const uint64_t*>(src + i)), Set(d, add));
    bits = Or(bits, Add(value, Set(d, half)));
    StoreU(TruncateTo(narrow, value), narrow, dst + i);
  }
  HWY_ALIGN uint64_t lanes[HWY_MAX_BYTES / sizeof(uint64_t)];
  Store(bits, d, lanes);
  uint64_t all = 0;
  for (size_t l = 0; l < Lanes(d); ++l) all |= lanes[l];
  for (; i < n; ++i) {
    const uint64_t value = static_cast<uint64_t>(src[i]) + add;
    all |= value + half;
    dst[i] = static_cast<T>(value);
  }
  return all >> (8 * sizeof(T)) == 0;
}

bool RunLessZero(const int64_t* src, int64_t zero, int16_t* dst, size_t n) {
  return Narrow(src, 0 - static_cast<uint64_t>(zero), uint64_t{1} << 15, reinterpret_cast<uint16_t*>(dst), n);
}

bool RunToBytes(const int64_t* src, int64_t offset, uint8_t* dst, size_t n) {
  return Narrow(src, static_cast<uint64_t>(offset), 0, dst, n);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunMultiply);
HWY_EXPORT(RunMultiplyScaled);
HWY_EXPORT(RunPackPanels);
HWY_EXPORT(RunLessZero);
HWY_EXPORT(RunToBytes);

void MultiplyIntegers(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch, int32_t* y) {
  PLUMB_SIMD_CALL(RunMultiply)(f, first, last, scratch, y);
}
void MultiplyIntegers(const IntegerFactors& f, int64_t first, int64_t last, int16_t* scratch, const SumTail& tail,
                      float* y) {
  PLUMB_SIMD_CALL(RunMultiplyScaled)(f, first, last, scratch, tail, y);
}
void PackPanels(const int16_t* b, int64_t k, int64_t n, int64_t first_pair, int64_t last_pair, int16_t* panels) {
  PLUMB_SIMD_CALL(RunPackPanels)(b, k, n, first_pair, last_pair, panels);
}
bool NarrowPanels(const int16_t* wide, int64_t k, int64_t n, int8_t* narrow, int32_t* shifts) {
  const int64_t size = PanelValues(k);
  for (int64_t column = 0; column < NumPanels(n) * kPanelColumns; ++column) {
    const int64_t first = column / kPanelColumns * size + column % kPanelColumns * 2;
    const auto at = [&](int64_t i) { return first + i / 2 * kPanelColumns * 2 + i % 2; };
    int32_t low = 0, high = 0;  // where they fit as they are the shift is 0
    for (int64_t i = 0; i < k; ++i)
      low = std::min<int32_t>(low, wide[at(i)]), high = std::max<int32_t>(high, wide[at(i)]);
    if (high - low > 255) return false;
    shifts[column] = low < -128 || high > 127 ? (low + high + 1) >> 1 : 0;
    for (int64_t i = 0; i < 2 * PairsOf(k); ++i)
      narrow[at(i)] = i < k ? static_cast<int8_t>(wide[at(i)] - shifts[column]) : int8_t{0};
  }
  return true;
}
bool LessZero(const int64_t* src, int64_t zero, int16_t* dst, size_t n) {
  return PLUMB_SIMD_CALL(RunLessZero)(src, zero, dst, n);
}
bool ToBytes(const int64_t* src, int64_t offset, uint8_t* dst, size_t n) {
  return PLUMB_SIMD_CALL(RunToBytes)(src, offset, dst, n);
}

}  // namespace plumb::simd
#endif
