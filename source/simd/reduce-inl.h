// SPDX-License-Identifier: Apache-2.0
// Sums in float64 vectors: neither the error nor an overflow of a partial sum grows with the number of terms, and at
// memory speed the wider additions cost little.
#if defined(PLUMB_SIMD_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMB_SIMD_REDUCE_INL_H_
#undef PLUMB_SIMD_REDUCE_INL_H_
#else
#define PLUMB_SIMD_REDUCE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "simd/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

using HalfF32 = Half<F32>;
using F64 = Rebind<double, HalfF32>;
using V64 = Vec<F64>;

struct IdentityTerm {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return x;
  }
};

struct PlusOp {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return Add(a, b);
  }
};

struct TimesOp {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return Mul(a, b);
  }
};

// op over term(src[i]) in float64, i < n, contiguous; `neutral` is op's neutral element.
template <class Op, class Term>
HWY_INLINE double FoldRow(const float* src, int64_t n, const Op& op, double neutral, const Term& term) {
  const F64 d;
  const HalfF32 half;
  const int64_t lanes = Lanes(d);
  V64 s0 = Set(d, neutral), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = op(s0, term(PromoteTo(d, LoadU(half, src + i))));
    s1 = op(s1, term(PromoteTo(d, LoadU(half, src + i + lanes))));
    s2 = op(s2, term(PromoteTo(d, LoadU(half, src + i + 2 * lanes))));
    s3 = op(s3, term(PromoteTo(d, LoadU(half, src + i + 3 * lanes))));
  }
  for (; i + lanes <= n; i += lanes) s0 = op(s0, term(PromoteTo(d, LoadU(half, src + i))));
  HWY_ALIGN double sums[kMaxLanes];
  Store(op(op(s0, s1), op(s2, s3)), d, sums);
  const CappedTag<double, 1> one;
  auto total = Set(one, neutral);
  for (int64_t k = 0; k < lanes; ++k) total = op(total, Set(one, sums[k]));
  for (; i < n; ++i) total = op(total, term(Set(one, static_cast<double>(src[i]))));
  return GetLane(total);
}

template <class Term>
HWY_INLINE double SumRow(const float* src, int64_t n, const Term& term) {
  return FoldRow(src, n, PlusOp(), 0.0, term);
}
HWY_INLINE double SumRow(const float* src, int64_t n) { return SumRow(src, n, IdentityTerm()); }

// The float64 values of a float vector, lower and upper half.
struct Wide {
  V64 low, high;
};

HWY_INLINE Wide Widen(F32, V32 x) {
  const F64 d;
  const HalfF32 half;
  return {PromoteTo(d, LowerHalf(half, x)), PromoteTo(d, UpperHalf(half, x))};
}

HWY_INLINE V32 Narrow(F32 d, const Wide& x) {
  const HalfF32 half;
  return Combine(d, DemoteTo(half, x.high), DemoteTo(half, x.low));
}

// op over i < n of term(the float vector at src + i * stride), lanes apart.
template <class Op, class Term>
HWY_INLINE Wide FoldColumns(F32 d, const float* src, int64_t n, int64_t stride, const Op& op, double neutral,
                            const Term& term) {
  Wide sum{Set(F64(), neutral), Set(F64(), neutral)};
  for (int64_t i = 0; i < n; ++i) {
    const Wide x = Widen(d, LoadU(d, src + i * stride));
    sum.low = op(sum.low, term(x.low));
    sum.high = op(sum.high, term(x.high));
  }
  return sum;
}

// Max and Min that keep NaN. Where a lane holds NaN, x86 gives the second argument, so one of the two orders is NaN;
// ORed it stays NaN, and equal results stay themselves. ARM gives the other number: all bits are set there.
#if HWY_ARCH_ARM
template <class V>
HWY_INLINE V KeepNaNs(V a, V b, V extreme) {
  const DFromV<V> d;
  return Or(extreme, Or(VecFromMask(d, IsNaN(a)), VecFromMask(d, IsNaN(b))));
}
#endif
struct MaxOp {
  static constexpr float kNeutral = -std::numeric_limits<float>::infinity();
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
#if HWY_ARCH_ARM
    return KeepNaNs(a, b, Max(a, b));
#else
    return Or(Max(a, b), Max(b, a));
#endif
  }
};
struct MinOp {
  static constexpr float kNeutral = std::numeric_limits<float>::infinity();
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
#if HWY_ARCH_ARM
    return KeepNaNs(a, b, Min(a, b));
#else
    return Or(Min(a, b), Min(b, a));
#endif
  }
};

// op over the n floats at src.
template <class Op>
HWY_INLINE float ExtremeOfRow(const float* src, int64_t n, const Op& op) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  V32 a = Set(d, Op::kNeutral), b = a;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = op(a, LoadU(d, src + i));
    b = op(b, LoadU(d, src + i + lanes));
  }
  for (; i < n; i += lanes) {
    a = op(a, n - i >= lanes ? LoadU(d, src + i) : LoadPart(d, src + i, n - i, Op::kNeutral));
  }
  HWY_ALIGN float values[kMaxLanes];
  Store(op(a, b), d, values);
  const CappedTag<float, 1> one;
  auto extreme = Set(one, Op::kNeutral);
  for (int64_t k = 0; k < lanes; ++k) extreme = op(extreme, Set(one, values[k]));
  return GetLane(extreme);
}

template <class Op>
HWY_INLINE V32 ExtremeOfColumns(F32 d, const float* src, int64_t n, int64_t stride, const Op& op) {
  V32 extreme = Set(d, Op::kNeutral);
  for (int64_t i = 0; i < n; ++i) extreme = op(extreme, LoadU(d, src + i * stride));
  return extreme;
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PLUMB_SIMD_REDUCE_INL_H_
