// SPDX-License-Identifier: Apache-2.0
// Reductions in float64 vectors: rows (inner = 1) across the lanes, columns with one lane per column.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/reduce.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/math-inl.h"
#include "simd/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// A view of one outer slice; columns are [begin, end) of inner.
struct Slice {
  const float* src;
  int64_t n, inner, begin, end;
};

template <class Op, class Term, class Finish>
HWY_INLINE void FoldSlice(const Slice& s, const Op& op, double neutral, const Term& term, const Finish& finish,
                          float* dst) {
  const F32 d;
  if (s.inner == 1) {
    *dst = static_cast<float>(finish(FoldRow(s.src, s.n, op, neutral, term)));
    return;
  }
  const int64_t lanes = Lanes(d);
  const CappedTag<double, 1> one;
  HWY_ALIGN double values[kMaxLanes];
  int64_t c = s.begin;
  for (; c + lanes <= s.end; c += lanes) {
    const Wide sum = FoldColumns(d, s.src + c, s.n, s.inner, op, neutral, term);
    Store(sum.low, F64(), values);
    Store(sum.high, F64(), values + lanes / 2);
    for (int64_t k = 0; k < lanes; ++k) dst[c - s.begin + k] = static_cast<float>(finish(values[k]));
  }
  for (; c < s.end; ++c) {
    auto sum = Set(one, neutral);
    for (int64_t i = 0; i < s.n; ++i) sum = op(sum, term(Set(one, static_cast<double>(s.src[i * s.inner + c]))));
    dst[c - s.begin] = static_cast<float>(finish(GetLane(sum)));
  }
}

template <class Op>
HWY_INLINE void ExtremeOfSlice(const Slice& s, const Op& op, float* dst) {
  const F32 d;
  if (s.inner == 1) {
    *dst = ExtremeOfRow(s.src, s.n, op);
    return;
  }
  const int64_t lanes = Lanes(d);
  const CappedTag<float, 1> one;
  int64_t c = s.begin;
  for (; c + lanes <= s.end; c += lanes) {
    StoreU(ExtremeOfColumns(d, s.src + c, s.n, s.inner, op), d, dst + (c - s.begin));
  }
  for (; c < s.end; ++c) {
    auto extreme = Set(one, Op::kNeutral);
    for (int64_t i = 0; i < s.n; ++i) extreme = op(extreme, LoadU(one, s.src + i * s.inner + c));
    dst[c - s.begin] = GetLane(extreme);
  }
}

// log(sum e^(x - m)) + m for one column, x strided; an infinite or NaN maximum is the result itself.
HWY_INLINE float LogSumExpOfColumn(const float* src, int64_t n, int64_t stride) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  float m = MaxOp::kNeutral;
  const CappedTag<float, 1> one;
  for (int64_t i = 0; i < n; ++i) m = GetLane(MaxOp()(Set(one, m), Set(one, src[i * stride])));
  if (!std::isfinite(m)) return m;
  double sum = 0;
  for (int64_t i = 0; i < n; i += lanes) {
    HWY_ALIGN float values[kMaxLanes];
    Store(Set(d, -kInfinity), d, values);
    for (int64_t k = 0; k < std::min(lanes, n - i); ++k) values[k] = src[(i + k) * stride] - m;
    Store(ExpV(d, Load(d, values)), d, values);
    for (int64_t k = 0; k < lanes; ++k) sum += values[k];
  }
  return static_cast<float>(m + std::log(sum));
}

HWY_INLINE void LogSumExpOfColumns(const Slice& s, int64_t column, float* dst) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  const float* src = s.src + column;
  const V32 m = ExtremeOfColumns(d, src, s.n, s.inner, MaxOp());
  Wide sum{Zero(F64()), Zero(F64())};
  for (int64_t i = 0; i < s.n; ++i) {
    const Wide e = Widen(d, ExpV(d, Sub(LoadU(d, src + i * s.inner), m)));
    sum = {Add(sum.low, e.low), Add(sum.high, e.high)};
  }
  HWY_ALIGN double sums[kMaxLanes];
  HWY_ALIGN float maxima[kMaxLanes];
  Store(sum.low, F64(), sums);
  Store(sum.high, F64(), sums + lanes / 2);
  Store(m, d, maxima);
  for (int64_t k = 0; k < lanes; ++k) {
    dst[k] = std::isfinite(maxima[k]) ? static_cast<float>(maxima[k] + std::log(sums[k])) : maxima[k];
  }
}

void LogSumExpOfSlice(const Slice& s, float* dst) {
  const int64_t lanes = Lanes(F32());
  int64_t c = s.begin;
  for (; s.inner > 1 && c + lanes <= s.end; c += lanes) LogSumExpOfColumns(s, c, dst + (c - s.begin));
  for (; c < s.end; ++c) dst[c - s.begin] = LogSumExpOfColumn(s.src + c, s.n, s.inner);
}

// A row's combine.
template <class Term, class Finish>
void RunSum(const Slice& s, const Finish& finish, float* dst) {
  FoldSlice(s, PlusOp(), 0.0, Term(), finish, dst);
}
template <class Term, class Finish>
void RunProduct(const Slice& s, const Finish& finish, float* dst) {
  FoldSlice(s, TimesOp(), 1.0, Term(), finish, dst);
}
template <class Term, class Finish>
void RunLargest(const Slice& s, const Finish&, float* dst) {
  ExtremeOfSlice(s, MaxOp(), dst);
}
template <class Term, class Finish>
void RunSmallest(const Slice& s, const Finish&, float* dst) {
  ExtremeOfSlice(s, MinOp(), dst);
}
template <class Term, class Finish>
void RunShiftedSum(const Slice& s, const Finish&, float* dst) {
  LogSumExpOfSlice(s, dst);
}

#define PLUMB_SIMD_REDUCE(name, combine, term, ...)                      \
  struct name##Term {                                                    \
    template <class V>                                                   \
    HWY_INLINE V operator()(V x) const {                                 \
      return term;                                                       \
    }                                                                    \
  };                                                                     \
  struct name##Finish {                                                  \
    int64_t n;                                                           \
    HWY_INLINE double operator()(double s) const { return __VA_ARGS__; } \
  };
#include "simd/reduce.def"
#undef PLUMB_SIMD_REDUCE

void RunReduce(ReduceOp op, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst) {
  const Slice s{src, n, inner, begin, end};
  switch (op) {
#define PLUMB_SIMD_REDUCE(name, combine, ...) \
  case ReduceOp::k##name:                     \
    return Run##combine<name##Term>(s, name##Finish{n}, dst);
#include "simd/reduce.def"
#undef PLUMB_SIMD_REDUCE
    case ReduceOp::kNumOps: return;
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunReduce);

void Reduce(ReduceOp op, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst) {
  if (begin < end) PLUMB_SIMD_CALL(RunReduce)(op, src, n, inner, begin, end, dst);
}

const char* ReduceName(ReduceOp op) {
  switch (op) {
#define PLUMB_SIMD_REDUCE(name, ...) \
  case ReduceOp::k##name:            \
    return #name;
#include "simd/reduce.def"
#undef PLUMB_SIMD_REDUCE
    case ReduceOp::kNumOps: break;
  }
  return "unknown";
}

}  // namespace plumb::simd
#endif
