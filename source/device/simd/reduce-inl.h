// Sums whose error does not grow with the number of terms: short runs in float vectors, the runs added up in a second
// level in float64.
#if defined(PLUMB_DEVICE_SIMD_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMB_DEVICE_SIMD_REDUCE_INL_H_
#undef PLUMB_DEVICE_SIMD_REDUCE_INL_H_
#else
#define PLUMB_DEVICE_SIMD_REDUCE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "device/simd/loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

struct IdentityTerm {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return x;
  }
};

// Sum over src[i] of term(src[i]), i < n; contiguous. Runs of 16 vectors per accumulator, four accumulators. The terms
// of a tail's missing elements must not count: `fill` is an x whose term is 0.
template <class Term>
HWY_INLINE double SumRow(const float* src, int64_t n, const Term& term, float fill = 0.0f) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  double total = 0;
  int64_t i = 0;
  while (i + 4 * lanes <= n) {
    const int64_t steps = std::min<int64_t>((n - i) / (4 * lanes), 16);
    V32 s0 = Zero(d), s1 = Zero(d), s2 = Zero(d), s3 = Zero(d);
    for (int64_t k = 0; k < steps; ++k, i += 4 * lanes) {
      s0 = Add(s0, term(d, LoadU(d, src + i)));
      s1 = Add(s1, term(d, LoadU(d, src + i + lanes)));
      s2 = Add(s2, term(d, LoadU(d, src + i + 2 * lanes)));
      s3 = Add(s3, term(d, LoadU(d, src + i + 3 * lanes)));
    }
    total += GetLane(SumOfLanes(d, Add(Add(s0, s1), Add(s2, s3))));
  }
  for (; i < n; i += lanes) {
    const int64_t left = n - i;
    const V32 x = left >= lanes ? LoadU(d, src + i) : LoadPart(d, src + i, left, fill);
    total += GetLane(SumOfLanes(d, term(d, x)));
  }
  return total;
}

HWY_INLINE double SumRow(const float* src, int64_t n) { return SumRow(src, n, IdentityTerm()); }

// Sum over i < n of term(vector at src + i * stride); lanes stay apart. Runs of 16 in float, the runs in float64.
template <class D, class Term>
HWY_INLINE Vec<D> SumStrided(D d, const float* src, int64_t n, int64_t stride, const Term& term) {
  const Half<D> half;
  const Rebind<double, Half<D>> wide;
  auto low = Zero(wide), high = Zero(wide);
  for (int64_t begin = 0; begin < n; begin += 32) {
    const int64_t end = std::min<int64_t>(begin + 32, n);
    auto even = Zero(d), odd = Zero(d);
    int64_t i = begin;
    for (; i + 2 <= end; i += 2) {
      even = Add(even, term(d, LoadU(d, src + i * stride)));
      odd = Add(odd, term(d, LoadU(d, src + (i + 1) * stride)));
    }
    if (i < end) even = Add(even, term(d, LoadU(d, src + i * stride)));
    const auto run = Add(even, odd);
    low = Add(low, PromoteTo(wide, LowerHalf(half, run)));
    high = Add(high, PromoteTo(wide, UpperHalf(half, run)));
  }
  return Combine(d, DemoteTo(half, high), DemoteTo(half, low));
}

template <class D>
HWY_INLINE Vec<D> SumStrided(D d, const float* src, int64_t n, int64_t stride) {
  return SumStrided(d, src, n, stride, IdentityTerm());
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PLUMB_DEVICE_SIMD_REDUCE_INL_H_
