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

// Columns [begin, count), one at a time.
void AddColumns(const int16_t* x, int64_t row_pairs, const int8_t* w, int64_t n, int64_t begin, int64_t count,
                int32_t* y) {
  for (int64_t k = 0; k < row_pairs; ++k) {
    for (int64_t j = begin; j < count; ++j)
      y[j] += x[2 * k] * w[2 * (k * n + j)] + x[2 * k + 1] * w[2 * (k * n + j) + 1];
  }
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
// Highway leaves it open which products ReorderWidenMulAccumulate adds up; on x86 it is pmaddwd: those of neighbours.
void RunGemvAddInt8(const int16_t* x, int64_t row_pairs, const int8_t* w, int64_t n, int64_t count, int32_t* y) {
  const ScalableTag<int32_t> d;
  const ScalableTag<int16_t> wide;
  const Rebind<int8_t, decltype(wide)> narrow;
  const auto lanes = static_cast<int64_t>(Lanes(d));
  const int64_t whole = count / lanes * lanes;
  const auto pair = [&](int64_t k) {
    int32_t both;
    std::memcpy(&both, x + 2 * k, sizeof(both));
    return BitCast(wide, Set(d, both));
  };
  int64_t k = 0;
  for (; k + 4 <= row_pairs; k += 4) {
    const auto x0 = pair(k), x1 = pair(k + 1), x2 = pair(k + 2), x3 = pair(k + 3);
    const int8_t* row = w + 2 * k * n;
    for (int64_t j = 0; j < whole; j += lanes) {
      auto unused = Zero(d), sum = LoadU(d, y + j);
      const auto at = [&](int64_t i) { return PromoteTo(wide, LoadU(narrow, row + 2 * (i * n + j))); };
      sum = ReorderWidenMulAccumulate(d, x0, at(0), sum, unused);
      sum = ReorderWidenMulAccumulate(d, x1, at(1), sum, unused);
      sum = ReorderWidenMulAccumulate(d, x2, at(2), sum, unused);
      sum = ReorderWidenMulAccumulate(d, x3, at(3), sum, unused);
      StoreU(sum, d, y + j);
    }
  }
  AddColumns(x, k, w, n, whole, count, y);
  AddColumns(x + 2 * k, row_pairs - k, w + 2 * k * n, n, 0, count, y);
}
#else
void RunGemvAddInt8(const int16_t* x, int64_t row_pairs, const int8_t* w, int64_t n, int64_t count, int32_t* y) {
  AddColumns(x, row_pairs, w, n, 0, count, y);
}
#endif

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunGemvAdd);
HWY_EXPORT(RunGemvAddInt8);

void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y) {
  PLUMB_SIMD_CALL(RunGemvAdd)(x, rows, w, n, y);
}

void GemvAddInt8(const int16_t* x, int64_t row_pairs, const int8_t* w, int64_t n, int64_t count, int32_t* y) {
  PLUMB_SIMD_CALL(RunGemvAddInt8)(x, row_pairs, w, n, count, y);
}

}  // namespace plumb::simd
#endif
