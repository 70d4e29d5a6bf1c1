// SPDX-License-Identifier: Apache-2.0
// Tiles of sums of products of whole numbers, and what becomes of them: the loops that integer_product.cc and
// byte_product.cc share. `Tiles` says how a tile is summed up:
//
//   using Factors, Value;                the factors; what panels hold
//   kRows, kPanelsBeside                 rows of a tile; panels that a single row is multiplied with at once
//   PanelValues(factors)                 of one panel
//   Sum<kRows, kPanels>(factors, row, column, panels, sums)   int32 sums [row][panel][column], less the shifts' part
// Included once per target: no include guard in the usual sense (Highway's toggle).
#if defined(PLUMB_SIMD_INTEGER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMB_SIMD_INTEGER_TILE_INL_H_
#undef PLUMB_SIMD_INTEGER_TILE_INL_H_
#else
#define PLUMB_SIMD_INTEGER_TILE_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "simd/integer_product.h"
#include "simd/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

using I32 = ScalableTag<int32_t>;
#if HWY_TARGET != HWY_SCALAR
constexpr int kPanelVectors = static_cast<int>(kPanelColumns / (HWY_MAX_BYTES / sizeof(int32_t)));
#endif

// 16 sums of one row become y, or `left` of them.
struct StoreSums {
  int32_t* y;
  HWY_INLINE void operator()(const int32_t* sums, int64_t, int64_t at, int64_t, int64_t left) const {
    std::memcpy(y + at, sums, static_cast<size_t>(std::min(left, kPanelColumns)) * sizeof(int32_t));
  }
};

struct StoreScaled {
  SumTail tail;
  float* y;

  HWY_INLINE static V32 Factor(F32 d, const SumFactor& factor, int64_t row, int64_t column, int64_t left) {
    const float* from = factor.values + row * factor.row_step;
    return factor.step == 0 ? Set(d, *from) : LoadUpTo(d, from + column, left);
  }
  HWY_INLINE void operator()(const int32_t* sums, int64_t row, int64_t at, int64_t column, int64_t left) const {
    const F32 d;
    const I32 whole;
    const auto lanes = static_cast<int64_t>(Lanes(d));
    for (int64_t i = 0; i < std::min(left, kPanelColumns); i += lanes) {
      V32 v = ConvertTo(d, Load(whole, sums + i));
      if (tail.scale.values != nullptr) v = Mul(v, Factor(d, tail.scale, row, column + i, left - i));
      if (tail.shift.values != nullptr) v = Add(v, Factor(d, tail.shift, row, column + i, left - i));
      StoreUpTo(v, d, y + at + i, left - i);
    }
  }
};

HWY_INLINE void AddShifts(int32_t row_sum, const int32_t* shifts, int32_t* sums) {
  const I32 d;
  for (int64_t i = 0; i < kPanelColumns; i += static_cast<int64_t>(Lanes(d)))
    Store(Add(Load(d, sums + i), Mul(Set(d, row_sum), LoadU(d, shifts + i))), d, sums + i);
}

template <class Tiles, int kRows, int kPanels, class Sink>
HWY_INLINE void MultiplyTile(const typename Tiles::Factors& f, const typename Tiles::Value* panels, int64_t row,
                             int64_t column, const Sink& sink) {
  HWY_ALIGN int32_t sums[kRows * kPanels * kPanelColumns];
  Tiles::template Sum<kRows, kPanels>(f, row, column, panels, sums);
  for (int64_t i = 0; i < kRows * kPanels; ++i) {
    const int64_t r = row + i / kPanels, at = column + i % kPanels * kPanelColumns;
    int32_t* of = sums + i * kPanelColumns;
    if (f.shifts != nullptr) AddShifts(f.row_sums[r], f.shifts + at, of);
    sink(of, r, r * f.n + at, at, f.n - at);
  }
}

// The last rows, at most kRows, as one tile: each tile reads its panels as a whole.
template <class Tiles, int kRows, int kPanels, class Sink>
void MultiplyRest(const typename Tiles::Factors& f, const typename Tiles::Value* panels, int64_t row, int64_t column,
                  const Sink& sink) {
  if (f.rows - row == kRows) return MultiplyTile<Tiles, kRows, kPanels>(f, panels, row, column, sink);
  if constexpr (kRows > 1) MultiplyRest<Tiles, kRows - 1, kPanels>(f, panels, row, column, sink);
}

template <class Tiles, int kPanels, class Sink>
HWY_INLINE void MultiplyRows(const typename Tiles::Factors& f, const typename Tiles::Value* panels, int64_t column,
                             const Sink& sink) {
  constexpr int kRows = Tiles::kRows;
  int64_t row = 0;
  for (; row + kRows < f.rows; row += kRows) MultiplyTile<Tiles, kRows, kPanels>(f, panels, row, column, sink);
  MultiplyRest<Tiles, kRows, kPanels>(f, panels, row, column, sink);
}

// A single row beside several panels at once, each of which is read once.
template <class Tiles, class Sink>
HWY_INLINE void MultiplyRow(const typename Tiles::Factors& f, const typename Tiles::Value* panels, int64_t first,
                            int64_t last, const Sink& sink) {
  constexpr int kBeside = Tiles::kPanelsBeside;
  const int64_t values = Tiles::PanelValues(f);
  int64_t i = first;
  for (; i + kBeside <= last; i += kBeside)
    MultiplyTile<Tiles, 1, kBeside>(f, panels + i * values, 0, i * kPanelColumns, sink);
  for (; i < last; ++i) MultiplyTile<Tiles, 1, 1>(f, panels + i * values, 0, i * kPanelColumns, sink);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
