// SPDX-License-Identifier: Apache-2.0
// Normalize: the norm and the division in float64, so that a norm beyond float still divides.
#include "simd/targets.h"

#include <limits>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/normalize.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/norm.h"
#include "simd/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

struct AbsTerm {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return Abs(x);
  }
};
struct SquareTerm {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return Mul(x, x);
  }
};

// Comparisons with NaN are false, so a NaN norm stays.
HWY_INLINE V64 AtLeast(V64 norm, V64 epsilon) { return IfThenElse(Lt(norm, epsilon), epsilon, norm); }

template <bool kRoot, class Op, class Term>
HWY_INLINE void NormalizeSlice(const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, double epsilon,
                               const Op& op, double neutral, const Term& term, float* dst) {
  const F32 d;
  const F64 wide;
  const int64_t lanes = Lanes(d);
  const V64 least = Set(wide, epsilon);
  if (inner == 1) {
    const V64 sum = Set(wide, FoldRow(src, n, op, neutral, term));
    const V64 norm = AtLeast(kRoot ? Sqrt(sum) : sum, least);
    for (int64_t i = 0; i < n; i += lanes) {
      const Wide x = Widen(d, LoadUpTo(d, src + i, n - i));
      StoreUpTo(Narrow(d, {Div(x.low, norm), Div(x.high, norm)}), d, dst + i, n - i);
    }
    return;
  }
  for (int64_t c = begin; c < end; c += lanes) {
    Wide sum{Set(wide, neutral), Set(wide, neutral)};
    for (int64_t i = 0; i < n; ++i) {
      const Wide x = Widen(d, LoadUpTo(d, src + i * inner + c, end - c));
      sum = {op(sum.low, term(x.low)), op(sum.high, term(x.high))};
    }
    const V64 low = AtLeast(kRoot ? Sqrt(sum.low) : sum.low, least);
    const V64 high = AtLeast(kRoot ? Sqrt(sum.high) : sum.high, least);
    for (int64_t i = 0; i < n; ++i) {
      const Wide x = Widen(d, LoadUpTo(d, src + i * inner + c, end - c));
      StoreUpTo(Narrow(d, {Div(x.low, low), Div(x.high, high)}), d, dst + i * inner + c, end - c);
    }
  }
}

void RunNormalize(NormKind kind, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, double epsilon,
                  float* dst) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  switch (kind) {
    case NormKind::kL1: return NormalizeSlice<false>(src, n, inner, begin, end, epsilon, PlusOp(), 0.0, AbsTerm(), dst);
    case NormKind::kL2:
      return NormalizeSlice<true>(src, n, inner, begin, end, epsilon, PlusOp(), 0.0, SquareTerm(), dst);
    case NormKind::kMaxAbs:
      return NormalizeSlice<false>(src, n, inner, begin, end, epsilon, MaxOp(), 0.0, AbsTerm(), dst);
    case NormKind::kMinAbs:
      return NormalizeSlice<false>(src, n, inner, begin, end, epsilon, MinOp(), kMost, AbsTerm(), dst);
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunNormalize);

void Normalize(NormKind kind, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, double epsilon,
               float* dst) {
  if (begin < end) PLUMB_SIMD_CALL(RunNormalize)(kind, src, n, inner, begin, end, epsilon, dst);
}

}  // namespace plumb::simd
#endif
