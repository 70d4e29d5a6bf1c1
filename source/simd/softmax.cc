// SPDX-License-Identifier: Apache-2.0
// Softmax in three passes: maximum, exponentials (kept in dst) with their sum (float64; of a row in parts of eight
// vectors, which are float), division (of a row a product with the sum's inverse).
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/softmax.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/math-inl.h"
#include "simd/softmax.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// e^(x - m) where x <= m.
HWY_INLINE V32 ExpOfDifference(F32 d, V32 x, V32 m) {
  const V32 a = Sub(m, x);
  return HWY_LIKELY(AllTrue(d, Lt(a, Set(d, 87.0f)))) ? ExpOfMinus(d, a) : ExpV(d, Sub(x, m));
}

// A column of width 1: its n values are contiguous.
HWY_INLINE void SoftmaxRow(bool log, const float* src, int64_t n, float* dst) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  const V32 m = Set(d, ExtremeOfRow(src, n, MaxOp()));
  Wide sums{Zero(F64()), Zero(F64())};
  for (int64_t i = 0; i < n;) {
    V32 part = Zero(d);
    for (const int64_t end = std::min(n, i + 8 * lanes); i < end; i += lanes) {
      const int64_t left = n - i;
      const V32 x = left >= lanes ? LoadU(d, src + i) : LoadPart(d, src + i, left, -kInfinity);
      const V32 e = ExpOfDifference(d, x, m);
      part = Add(part, e);
      if (!log) StoreUpTo(e, d, dst + i, left);
    }
    const Wide wide = Widen(d, part);
    sums = {Add(sums.low, wide.low), Add(sums.high, wide.high)};
  }
  const double sum = GetLane(SumOfLanes(F64(), Add(sums.low, sums.high)));
  const V32 by = Set(d, static_cast<float>(log ? std::log(sum) : 1 / sum));
  for (int64_t i = 0; i < n; i += lanes) {
    const V32 y = log ? Sub(Sub(LoadUpTo(d, src + i, n - i), m), by) : Mul(LoadUpTo(d, dst + i, n - i), by);
    StoreUpTo(y, d, dst + i, n - i);
  }
}

// `count` columns side by side, at most one vector of them.
HWY_INLINE void SoftmaxColumns(bool log, const float* src, int64_t n, int64_t inner, int64_t count, float* dst) {
  const F32 d;
  V32 m = Set(d, -kInfinity);
  for (int64_t i = 0; i < n; ++i) m = MaxOp()(m, LoadUpTo(d, src + i * inner, count));
  Wide sums{Zero(F64()), Zero(F64())};
  for (int64_t i = 0; i < n; ++i) {
    const V32 e = ExpOfDifference(d, LoadUpTo(d, src + i * inner, count), m);
    const Wide wide = Widen(d, e);
    sums = {Add(sums.low, wide.low), Add(sums.high, wide.high)};
    if (!log) StoreUpTo(e, d, dst + i * inner, count);
  }
  const V32 sum = Narrow(d, sums);
  const V32 by = log ? LogV(d, sum) : sum;
  for (int64_t i = 0; i < n; ++i) {
    const float* from = log ? src : dst;
    const V32 x = LoadUpTo(d, from + i * inner, count);
    StoreUpTo(log ? Sub(Sub(x, m), by) : Div(x, by), d, dst + i * inner, count);
  }
}

void RunSoftmax(bool log, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst) {
  if (inner == 1) return SoftmaxRow(log, src, n, dst);
  const int64_t lanes = Lanes(F32());
  for (int64_t c = begin; c < end; c += lanes) {
    SoftmaxColumns(log, src + c, n, inner, std::min(lanes, end - c), dst + c);
  }
}

// 2^t for t <= 1/2, 0 below 2^-126.5; NaN stays. 2^n 2^r with |r| <= 1/2, the latter's polynomial fitted to 1.5 u. Each
// instruction counts here: half of what attention does beside its products.
HWY_INLINE V32 Exp2OfMinus(F32 d, V32 t) {
  const V32 magic = Set(d, 12583039.0f);  // 1.5 * 2^23 + 127: a sum with it ends in n + 127, the exponent of 2^n
  t = AtLeast(t, Set(d, -127.0f));
  const V32 shifted = Add(t, magic);
  const V32 r = Sub(t, Sub(shifted, magic));
  const V32 y = Horner(d, r, 1.32647273e-3f, 9.67151299e-3f, 5.55073358e-2f, 2.40222424e-1f, 6.93147004e-1f, 1.0f);
  const RebindToSigned<F32> whole;
  return Mul(y, BitCast(d, ShiftLeft<23>(BitCast(whole, shifted))));
}

// The largest x; a NaN may get lost.
HWY_INLINE float LargestOfRow(const float* x, int64_t n) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  V32 a = Set(d, -kInfinity), b = a;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = Max(a, LoadU(d, x + i));
    b = Max(b, LoadU(d, x + i + lanes));
  }
  for (; i < n; i += lanes) a = Max(a, n - i >= lanes ? LoadU(d, x + i) : LoadPart(d, x + i, n - i, -kInfinity));
  return GetLane(MaxOfLanes(d, Max(a, b)));
}

// x becomes x * scale + mask; the largest of these numbers.
HWY_INLINE float MaskRow(float* x, int64_t n, float scale, const float* mask, int step) {
  const F32 d;
  const int64_t lanes = Lanes(d), whole = n / lanes * lanes;
  const bool each = mask != nullptr && step != 0;
  const V32 by = Set(d, scale), plus = Set(d, mask == nullptr ? 0.0f : *mask);
  V32 largest = Set(d, -kInfinity);
  for (int64_t i = 0; i < whole; i += lanes) {
    const V32 y = MulAdd(LoadU(d, x + i), by, each ? LoadU(d, mask + i) : plus);
    StoreU(y, d, x + i);
    largest = Max(largest, y);
  }
  if (whole < n) {
    const auto rest = static_cast<size_t>(n - whole);
    const V32 y = MulAdd(LoadPart(d, x + whole, rest), by, each ? LoadPart(d, mask + whole, rest) : plus);
    StorePart(y, d, x + whole, rest);
    largest = Max(largest, IfThenElse(FirstN(d, rest), y, Set(d, -kInfinity)));
  }
  return GetLane(MaxOfLanes(d, largest));
}

// x becomes 2^(x * scale + shift); their sum, of parts that are short enough for float.
HWY_INLINE double WeighRow(float* x, int64_t n, float scale, float shift) {
  constexpr int64_t kPartVectors = 32;
  const F32 d;
  const int64_t lanes = Lanes(d), whole = n / lanes * lanes;
  const V32 by = Set(d, scale), plus = Set(d, shift);
  double sum = 0;
  for (int64_t begin = 0, end; begin < whole; begin = end) {
    end = std::min(whole, begin + kPartVectors * lanes);
    V32 part = Zero(d);
    for (int64_t i = begin; i < end; i += lanes) {
      const V32 e = Exp2OfMinus(d, MulAdd(LoadU(d, x + i), by, plus));
      StoreU(e, d, x + i);
      part = Add(part, e);
    }
    sum += static_cast<double>(GetLane(SumOfLanes(d, part)));
  }
  if (whole == n) return sum;
  const auto rest = static_cast<size_t>(n - whole);
  const V32 e = Exp2OfMinus(d, MulAdd(LoadPart(d, x + whole, rest, -kInfinity), by, plus));
  StorePart(e, d, x + whole, rest);
  return sum + static_cast<double>(GetLane(SumOfLanes(d, e)));
}

// x becomes e^(x * scale - most * scale); 1 / their sum.
HWY_INLINE float WeightsOfRow(float* x, int64_t n, float scale, float most) {
  constexpr float kLog2OfE = 1.44269504f, kMostShift = 1 << 20;
  if (!std::isfinite(most)) {
    std::fill_n(x, n, NAN);
    return NAN;
  }
  const float by = scale * kLog2OfE, shift = -most * by;
  if (std::fabs(shift) < kMostShift) return static_cast<float>(1 / WeighRow(x, n, by, shift));
  // The product is too large for its rounding to be a small shift: differences first, which are exact.
  MapUnary([most](F32 d, V32 y) { return Sub(y, Set(d, most)); }, x, x, static_cast<size_t>(n));
  return static_cast<float>(1 / WeighRow(x, n, by, 0));
}

void RunSoftmaxWeights(const ScoreRows& scores, float* factors) {
  // All maxima of some rows, which stay in half the first cache, before their weights: these wait for the maximum.
  constexpr int64_t kTogether = 4096;
  const bool as_they_are = scores.mask == nullptr && scores.scale > 0;
  const int64_t n = scores.n, rows = std::max<int64_t>(1, kTogether / n);
  const auto at = [&](int64_t row) { return scores.x + row * scores.row_step; };
  for (int64_t begin = 0; begin < scores.rows; begin += rows) {
    const int64_t end = std::min(scores.rows, begin + rows);
    for (int64_t row = begin; row < end; ++row) {
      const float* mask = scores.mask == nullptr ? nullptr : scores.mask + row * scores.mask_row_step;
      factors[row] = as_they_are ? LargestOfRow(at(row), n) : MaskRow(at(row), n, scores.scale, mask, scores.mask_step);
    }
    for (int64_t row = begin; row < end; ++row)
      factors[row] = WeightsOfRow(at(row), n, as_they_are ? scores.scale : 1, factors[row]);
  }
}

// NaN in the lanes of those that are infinite or NaN, else 0.
HWY_INLINE V32 NotFinite(V32 x) { return Sub(x, x); }

bool RunScaleRows(const float* from, int64_t from_step, int64_t rows, int64_t n, const float* factors, float* to,
                  int64_t to_step) {
  const F32 d;
  const int64_t lanes = Lanes(d), whole = n / lanes * lanes;
  V32 none = Zero(d);
  for (int64_t row = 0; row < rows; ++row, from += from_step, to += to_step) {
    const V32 factor = Set(d, factors[row]);
    for (int64_t i = 0; i < whole; i += lanes) {
      const V32 y = Mul(LoadU(d, from + i), factor);
      StoreU(y, d, to + i);
      none = Or(none, NotFinite(y));
    }
    if (whole == n) continue;
    const V32 y = Mul(LoadPart(d, from + whole, static_cast<size_t>(n - whole)), factor);
    StorePart(y, d, to + whole, static_cast<size_t>(n - whole));
    none = Or(none, NotFinite(y));
  }
  return AllTrue(d, Eq(none, none));
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunSoftmax);
HWY_EXPORT(RunSoftmaxWeights);
HWY_EXPORT(RunScaleRows);

void Softmax(bool log, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst) {
  if (begin < end) PLUMB_SIMD_CALL(RunSoftmax)(log, src, n, inner, begin, end, dst);
}

void SoftmaxWeights(const ScoreRows& scores, float* factors) { PLUMB_SIMD_CALL(RunSoftmaxWeights)(scores, factors); }

bool ScaleRows(const float* from, int64_t from_step, int64_t rows, int64_t n, const float* factors, float* to,
               int64_t to_step) {
  return PLUMB_SIMD_CALL(RunScaleRows)(from, from_step, rows, n, factors, to, to_step);
}

}  // namespace plumb::simd
#endif
