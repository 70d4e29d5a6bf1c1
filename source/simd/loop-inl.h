// SPDX-License-Identifier: Apache-2.0
// Loops over contiguous floats with a functor on vectors; the tail goes through a small buffer, so that the functor is
// compiled once per loop and never reads or writes outside the range.
// Included once per target: no include guard in the usual sense (Highway's toggle).
#if defined(PLUMB_SIMD_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMB_SIMD_LOOP_INL_H_
#undef PLUMB_SIMD_LOOP_INL_H_
#else
#define PLUMB_SIMD_LOOP_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

using namespace hwy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): Highway's own pattern

using F32 = ScalableTag<float>;
using V32 = Vec<F32>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// x, or `low` where that is larger; NaN passes. Where one of two operands is NaN, x86's min and max are the second;
// ARM's are the number, so there comparisons, which are false, have to do.
template <class V>
HWY_INLINE V AtLeast(V x, V low) {
#if HWY_ARCH_X86
  return Max(low, x);
#else
  return IfThenElse(Lt(x, low), low, x);
#endif
}

// x within [low, high]; NaN passes.
template <class V>
HWY_INLINE V ClampV(V x, V low, V high) {
  const V above = AtLeast(x, low);
#if HWY_ARCH_X86
  return Min(high, above);
#else
  return IfThenElse(Gt(above, high), high, above);
#endif
}

// n < Lanes(d) floats, the rest of the vector is `fill`.
HWY_INLINE V32 LoadPart(F32 d, const float* src, size_t n, float fill = 0.0f) {
  HWY_ALIGN float buffer[kMaxLanes];
  Store(Set(d, fill), d, buffer);
  std::memcpy(buffer, src, n * sizeof(float));
  return Load(d, buffer);
}

HWY_INLINE void StorePart(V32 v, F32 d, float* dst, size_t n) {
  HWY_ALIGN float buffer[kMaxLanes];
  Store(v, d, buffer);
  std::memcpy(dst, buffer, n * sizeof(float));
}

// The first `n` lanes (all of them when n is greater) from or to memory.
HWY_INLINE V32 LoadUpTo(F32 d, const float* src, int64_t n) {
  return HWY_LIKELY(n >= static_cast<int64_t>(Lanes(d))) ? LoadU(d, src) : LoadPart(d, src, static_cast<size_t>(n));
}
HWY_INLINE void StoreUpTo(V32 v, F32 d, float* dst, int64_t n) {
  if (HWY_LIKELY(n >= static_cast<int64_t>(Lanes(d)))) {
    StoreU(v, d, dst);
  } else {
    StorePart(v, d, dst, static_cast<size_t>(n));
  }
}

// dst[i] = op(d, src[i]); dst may be src.
template <class Op>
HWY_INLINE void MapUnary(const Op& op, const float* src, float* dst, size_t n) {
  const F32 d;
  const size_t lanes = Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = n - i;
    const V32 x = HWY_LIKELY(left >= lanes) ? LoadU(d, src + i) : LoadPart(d, src + i, left);
    const V32 y = op(d, x);
    if (HWY_LIKELY(left >= lanes)) {
      StoreU(y, d, dst + i);
    } else {
      StorePart(y, d, dst + i, left);
    }
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PLUMB_SIMD_LOOP_INL_H_
