// SPDX-License-Identifier: Apache-2.0
// Four rows at a time over all columns: weights that fit no cache stream through once, in order (an LSTM of 256 takes
// 0.44 of the time that sums over blocks of columns take).
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/gemv.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/gemv.h"
#include "simd/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

void RunGemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  int64_t k = 0;
  for (; k + 4 <= rows; k += 4) {
    const float *a = w + k * n, *b = a + n, *c = b + n, *e = c + n;
    const V32 x0 = Set(d, x[k]), x1 = Set(d, x[k + 1]), x2 = Set(d, x[k + 2]), x3 = Set(d, x[k + 3]);
    for (int64_t j = 0; j < n; j += lanes) {
      const int64_t left = n - j;
      V32 sum = MulAdd(x0, LoadUpTo(d, a + j, left), LoadUpTo(d, y + j, left));
      sum = MulAdd(x1, LoadUpTo(d, b + j, left), sum);
      sum = MulAdd(x2, LoadUpTo(d, c + j, left), sum);
      StoreUpTo(MulAdd(x3, LoadUpTo(d, e + j, left), sum), d, y + j, left);
    }
  }
  for (; k < rows; ++k) {
    const V32 by = Set(d, x[k]);
    for (int64_t j = 0; j < n; j += lanes) {
      const int64_t left = n - j;
      StoreUpTo(MulAdd(by, LoadUpTo(d, w + k * n + j, left), LoadUpTo(d, y + j, left)), d, y + j, left);
    }
  }
}

// kCount vectors times all rows, kVectors vectors of columns from `column` on, whose sums stay in registers.
template <int kCount, int kVectors>
HWY_INLINE void AddColumns(const GemvVectors& v, int64_t rows, const float* w, int64_t n, int64_t column) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  V32 sum[kCount][kVectors];
#pragma GCC unroll 4
  for (int q = 0; q < kCount; ++q) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = column + i * lanes;
      sum[q][i] = LoadUpTo(d, v.y + q * v.y_step + at, n - at);
    }
  }
  for (int64_t k = 0; k < rows; ++k) {
    V32 row[kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) row[i] = LoadUpTo(d, w + k * n + column + i * lanes, n - column - i * lanes);
#pragma GCC unroll 4
    for (int q = 0; q < kCount; ++q) {
      const V32 x = Set(d, v.x[q * v.x_step + k]);
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) sum[q][i] = MulAdd(x, row[i], sum[q][i]);
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < kCount; ++q) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = column + i * lanes;
      StoreUpTo(sum[q][i], d, v.y + q * v.y_step + at, n - at);
    }
  }
}

template <int kCount>
void AddRows(const GemvVectors& v, int64_t rows, const float* w, int64_t n) {
  constexpr int kVectors = HWY_MAX_BYTES >= 64 ? 4 : 2;  // as registers allow
  const auto lanes = static_cast<int64_t>(Lanes(F32()));
  int64_t column = 0;
  for (; column + (kVectors - 1) * lanes < n; column += kVectors * lanes)
    AddColumns<kCount, kVectors>(v, rows, w, n, column);
  for (; column < n; column += lanes) AddColumns<kCount, 1>(v, rows, w, n, column);
}

void RunGemvAddSome(const GemvVectors& all, int64_t rows, const float* w, int64_t n) {
  GemvVectors v = all;
  for (int64_t left = all.count; left > 0; left -= v.count, v.x += v.count * v.x_step, v.y += v.count * v.y_step) {
    v.count = std::min<int64_t>(left, 4);
    switch (v.count) {
      case 4: AddRows<4>(v, rows, w, n); break;
      case 3: AddRows<3>(v, rows, w, n); break;
      case 2: AddRows<2>(v, rows, w, n); break;
      default: RunGemvAdd(v.x, rows, w, n, v.y);
    }
  }
}

// kRows rows, whose loads the CPU has under way together.
template <int kRows>
HWY_INLINE void DotRows(const float* x, int64_t n, const float* w, int64_t step, float* y) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  V32 sum[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sum[r] = Zero(d);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    const V32 factor = LoadUpTo(d, x + i, left);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r] = MulAdd(factor, LoadUpTo(d, w + r * step + i, left), sum[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) y[r] = GetLane(SumOfLanes(d, sum[r]));
}

void RunGemvDots(const float* x, int64_t n, const float* w, int64_t rows, int64_t step, float* y) {
  constexpr int kRows = 8;
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) DotRows<kRows>(x, n, w + r * step, step, y + r);
  for (; r < rows; ++r) DotRows<1>(x, n, w + r * step, step, y + r);
}

// The sums of each group of four vectors' lanes, side by side.
template <class D, class V>
HWY_INLINE Vec128<float> SumOfParts(D d, V v) {
  if constexpr (MaxLanes(D()) > 4) {
    const Half<D> half;
    return SumOfParts(half, Add(LowerHalf(half, v), UpperHalf(half, v)));
  } else {
    return v;
  }
}
HWY_INLINE Vec128<float> SumsOfFour(F32 d, V32 a, V32 b, V32 c, V32 e) {
  const RepartitionToWide<F32> wide;
  const auto ab = BitCast(wide, Add(InterleaveLower(d, a, b), InterleaveUpper(d, a, b)));
  const auto ce = BitCast(wide, Add(InterleaveLower(d, c, e), InterleaveUpper(d, c, e)));
  return SumOfParts(d, Add(BitCast(d, InterleaveLower(wide, ab, ce)), BitCast(d, InterleaveUpper(wide, ab, ce))));
}

// kCount vectors beside four rows.
template <int kCount>
HWY_INLINE void DotFour(const GemvVectors& v, int64_t n, const float* w, int64_t step, float* y) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  V32 sum[kCount][4];
#pragma GCC unroll 4
  for (int q = 0; q < kCount; ++q) {
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) sum[q][r] = Zero(d);
  }
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    V32 x[kCount];
#pragma GCC unroll 4
    for (int q = 0; q < kCount; ++q) x[q] = LoadUpTo(d, v.x + q * v.x_step + i, left);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const V32 row = LoadUpTo(d, w + r * step + i, left);
#pragma GCC unroll 4
      for (int q = 0; q < kCount; ++q) sum[q][r] = MulAdd(x[q], row, sum[q][r]);
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < kCount; ++q)
    StoreU(SumsOfFour(d, sum[q][0], sum[q][1], sum[q][2], sum[q][3]), Full128<float>(), y + q * v.y_step);
}

template <int kCount>
void DotSome(const GemvVectors& v, int64_t n, const float* w, int64_t rows, int64_t step) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) DotFour<kCount>(v, n, w + r * step, step, v.y + r);
  for (; r < rows; ++r) {
    for (int q = 0; q < kCount; ++q) DotRows<1>(v.x + q * v.x_step, n, w + r * step, step, v.y + q * v.y_step + r);
  }
}

void RunGemvDotsSome(const GemvVectors& all, int64_t n, const float* w, int64_t rows, int64_t step) {
  constexpr int64_t kMost = HWY_MAX_BYTES >= 64 ? 4 : 2;  // as registers allow
  GemvVectors v = all;
  for (int64_t left = all.count; left > 0; left -= v.count, v.x += v.count * v.x_step, v.y += v.count * v.y_step) {
    v.count = std::min(left, kMost);
    switch (v.count) {
      case 4: DotSome<4>(v, n, w, rows, step); break;
      case 3: DotSome<3>(v, n, w, rows, step); break;
      case 2: DotSome<2>(v, n, w, rows, step); break;
      default: RunGemvDots(v.x, n, w, rows, step, v.y);
    }
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunGemvAdd);
HWY_EXPORT(RunGemvDots);
HWY_EXPORT(RunGemvAddSome);
HWY_EXPORT(RunGemvDotsSome);

void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y) {
  PLUMB_SIMD_CALL(RunGemvAdd)(x, rows, w, n, y);
}

void GemvAdd(const GemvVectors& v, int64_t rows, const float* w, int64_t n) {
  PLUMB_SIMD_CALL(RunGemvAddSome)(v, rows, w, n);
}

void GemvDots(const GemvVectors& v, int64_t n, const float* w, int64_t rows, int64_t step) {
  PLUMB_SIMD_CALL(RunGemvDotsSome)(v, n, w, rows, step);
}

void GemvDots(const float* x, int64_t n, const float* w, int64_t rows, int64_t step, float* y) {
  PLUMB_SIMD_CALL(RunGemvDots)(x, n, w, rows, step, y);
}

}  // namespace plumb::simd
#endif
