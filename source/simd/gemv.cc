// Four rows at a time over all columns: weights that fit no cache stream through once, in order (an LSTM of 256 takes
// 0.44 of the time that sums over blocks of columns take).
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/gemv.cc"
#include "hwy/foreach_target.h"  // before highway.h

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

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunGemvAdd);
HWY_EXPORT(RunGemvDots);

void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y) {
  PLUMB_SIMD_CALL(RunGemvAdd)(x, rows, w, n, y);
}

void GemvDots(const float* x, int64_t n, const float* w, int64_t rows, int64_t step, float* y) {
  PLUMB_SIMD_CALL(RunGemvDots)(x, n, w, rows, step, y);
}

}  // namespace plumb::simd
#endif
