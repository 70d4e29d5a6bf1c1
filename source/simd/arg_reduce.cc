// SPDX-License-Identifier: Apache-2.0
// Arg max and arg min: rows find the extreme, then its place; columns carry the best value and its index in each lane.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/arg_reduce.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/reduce-inl.h"
#include "simd/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// The first (or last) i with src[i] == value, or src[i] NaN when value is. Whole vectors without a hit are skipped.
HWY_INLINE int64_t PlaceOf(float value, bool last, const float* src, int64_t n) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  const bool nan = std::isnan(value);
  const V32 v = Set(d, value);
  const auto hit = [&](int64_t i) { return nan ? std::isnan(src[i]) : src[i] == value; };
  int64_t begin = 0, end = n;
  while (end - begin >= lanes) {
    const V32 x = LoadU(d, src + (last ? end - lanes : begin));
    if (nan ? !AllTrue(d, Eq(x, x)) : !AllFalse(d, Eq(x, v))) break;
    if (last) {
      end -= lanes;
    } else {
      begin += lanes;
    }
  }
  if (last) {
    while (end > begin + 1 && !hit(end - 1)) --end;
    return end - 1;
  }
  while (begin < end - 1 && !hit(begin)) ++begin;
  return begin;
}

// One vector of columns.
template <bool kMax>
HWY_INLINE Vec<RebindToSigned<F32>> PlacesOfColumns(bool last, const float* src, int64_t n, int64_t stride) {
  const F32 d;
  const RebindToSigned<F32> di;
  V32 best = LoadU(d, src);
  auto place = Zero(di);
  for (int64_t i = 1; i < n; ++i) {
    const V32 x = LoadU(d, src + i * stride);
    const V32 greater = kMax ? x : best, smaller = kMax ? best : x;
    const auto wins = last ? Ge(greater, smaller) : Gt(greater, smaller);
    const auto nan = Not(Eq(x, x));
    const auto best_number = Eq(best, best);
    // a NaN stays until another NaN may replace it (last); a number never replaces one, as its comparison is false
    const auto take = Or(wins, last ? nan : And(nan, best_number));
    best = IfThenElse(take, x, best);
    place = IfThenElse(RebindMask(di, take), Set(di, static_cast<int32_t>(i)), place);
  }
  return place;
}

template <class T>
HWY_INLINE void ArgReduceSlice(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin,
                               int64_t end, T* dst) {
  if (inner == 1) {
    const float value = max ? ExtremeOfRow(src, n, MaxOp()) : ExtremeOfRow(src, n, MinOp());
    *dst = static_cast<T>(PlaceOf(value, last, src, n));
    return;
  }
  const int64_t lanes = Lanes(F32());
  HWY_ALIGN int32_t places[kMaxLanes];
  int64_t c = begin;
  for (; c + lanes <= end; c += lanes) {
    Store(max ? PlacesOfColumns<true>(last, src + c, n, inner) : PlacesOfColumns<false>(last, src + c, n, inner),
          RebindToSigned<F32>(), places);
    for (int64_t k = 0; k < lanes; ++k) dst[c - begin + k] = static_cast<T>(places[k]);
  }
  for (; c < end; ++c) {
    const float* x = src + c;
    int64_t place = 0;
    for (int64_t i = 1; i < n; ++i) {
      const float best = x[place * inner], y = x[i * inner];
      const bool wins = max ? (last ? y >= best : y > best) : (last ? y <= best : y < best);
      if (wins || (std::isnan(y) && (last || !std::isnan(best)))) place = i;
    }
    dst[c - begin] = static_cast<T>(place);
  }
}

void RunArgReduce32(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end,
                    int32_t* dst) {
  ArgReduceSlice(max, last, src, n, inner, begin, end, dst);
}
void RunArgReduce64(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end,
                    int64_t* dst) {
  ArgReduceSlice(max, last, src, n, inner, begin, end, dst);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunArgReduce32);
HWY_EXPORT(RunArgReduce64);

void ArgReduce(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end,
               int32_t* dst) {
  if (begin < end) PLUMB_SIMD_CALL(RunArgReduce32)(max, last, src, n, inner, begin, end, dst);
}

void ArgReduce(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end,
               int64_t* dst) {
  if (begin < end) PLUMB_SIMD_CALL(RunArgReduce64)(max, last, src, n, inner, begin, end, dst);
}

}  // namespace plumb::simd
#endif
