// Softmax in three passes: maximum, exponentials (kept in dst) with their float64 sum, division.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/softmax.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/math-inl.h"
#include "simd/softmax.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// A column of width 1: its n values are contiguous.
HWY_INLINE void SoftmaxRow(bool log, const float* src, int64_t n, float* dst) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  const V32 m = Set(d, ExtremeOfRow(src, n, MaxOp()));
  Wide sums{Zero(F64()), Zero(F64())};
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    const V32 x = left >= lanes ? LoadU(d, src + i) : LoadPart(d, src + i, left, -kInfinity);
    const V32 e = ExpV(d, Sub(x, m));
    const Wide wide = Widen(d, e);
    sums = {Add(sums.low, wide.low), Add(sums.high, wide.high)};
    if (!log) StoreUpTo(e, d, dst + i, left);
  }
  const double sum = GetLane(SumOfLanes(F64(), Add(sums.low, sums.high)));
  const V32 by = Set(d, static_cast<float>(log ? std::log(sum) : sum));
  for (int64_t i = 0; i < n; i += lanes) {
    const V32 y = log ? Sub(Sub(LoadUpTo(d, src + i, n - i), m), by) : Div(LoadUpTo(d, dst + i, n - i), by);
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
    const V32 e = ExpV(d, Sub(LoadUpTo(d, src + i * inner, count), m));
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

// e^-a, 0 where that is no normal number any more.
HWY_INLINE V32 ExpOfDistance(F32 d, V32 a) {
  const V32 most = Set(d, 87.0f);
  return IfThenElseZero(Lt(a, most), ExpOfMinus(d, a));
}

constexpr int64_t kPartVectors = 32;

void RunScaledSoftmax(float* x, int64_t n, float scale, const float* mask, int step) {
  const F32 d;
  const int64_t lanes = Lanes(d), whole = n / lanes * lanes, rest = n - whole;
  const bool each = mask != nullptr && step != 0;
  const V32 by = Set(d, scale), plus = Set(d, mask == nullptr ? 0.0f : *mask), lowest = Set(d, MaxOp::kNeutral);
  V32 largest = lowest;
  for (int64_t i = 0; i < whole; i += lanes) {
    const V32 y = MulAdd(LoadU(d, x + i), by, each ? LoadU(d, mask + i) : plus);
    StoreU(y, d, x + i);
    largest = MaxOp()(largest, y);
  }
  if (rest > 0) {
    const V32 y = MulAdd(LoadPart(d, x + whole, rest), by, each ? LoadPart(d, mask + whole, rest) : plus);
    StorePart(y, d, x + whole, rest);
    largest = MaxOp()(largest, IfThenElse(FirstN(d, static_cast<size_t>(rest)), y, lowest));
  }
  HWY_ALIGN float largest_of_lanes[kMaxLanes];
  Store(largest, d, largest_of_lanes);
  const float most = ExtremeOfRow(largest_of_lanes, lanes, MaxOp());
  if (!std::isfinite(most)) return void(std::fill_n(x, n, NAN));
  const V32 m = Set(d, most);
  double sum = 0;  // of parts that are short enough for float
  for (int64_t begin = 0, end; begin < whole; begin = end) {
    end = std::min(whole, begin + kPartVectors * lanes);
    V32 part = Zero(d);
    for (int64_t i = begin; i < end; i += lanes) {
      const V32 e = ExpOfDistance(d, Sub(m, LoadU(d, x + i)));
      StoreU(e, d, x + i);
      part = Add(part, e);
    }
    sum += static_cast<double>(GetLane(SumOfLanes(d, part)));
  }
  if (rest > 0) {
    const V32 e = ExpOfDistance(d, Sub(m, LoadPart(d, x + whole, rest, -kInfinity)));
    StorePart(e, d, x + whole, rest);
    sum += static_cast<double>(GetLane(SumOfLanes(d, e)));
  }
  const V32 share = Set(d, static_cast<float>(1 / sum));
  for (int64_t i = 0; i < whole; i += lanes) StoreU(Mul(LoadU(d, x + i), share), d, x + i);
  if (rest > 0) StorePart(Mul(LoadPart(d, x + whole, rest), share), d, x + whole, rest);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunSoftmax);
HWY_EXPORT(RunScaledSoftmax);

void Softmax(bool log, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst) {
  if (begin < end) PLUMB_SIMD_CALL(RunSoftmax)(log, src, n, inner, begin, end, dst);
}

void ScaledSoftmax(float* x, int64_t n, float scale, const float* mask, int step) {
  PLUMB_SIMD_CALL(RunScaledSoftmax)(x, n, scale, mask, step);
}

}  // namespace plumb::simd
#endif
