// SPDX-License-Identifier: Apache-2.0
// What follows a sum of products (ProductEnd of product.h) on one vector of any width.
// Included once per target: no include guard in the usual sense (Highway's toggle).
#if defined(PLUMB_SIMD_PRODUCT_END_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMB_SIMD_PRODUCT_END_INL_H_
#undef PLUMB_SIMD_PRODUCT_END_INL_H_
#else
#define PLUMB_SIMD_PRODUCT_END_INL_H_
#endif

#include "hwy/highway.h"
#include "simd/loop-inl.h"
#include "simd/math-inl.h"
#include "simd/product.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// Swish of `count` values in place, on vectors of the target's own width.
HWY_NOINLINE inline void SwishAll(float* values, int64_t count) {
  const F32 d;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(Lanes(d))) {
    const V32 x = LoadUpTo(d, values + i, count - i);
    StoreUpTo(Mul(x, SigmoidV(d, x)), d, values + i, count - i);
  }
}

template <class D>
HWY_INLINE Vec<D> EndOf(D d, Vec<D> x, const ProductEnd& end) {
  switch (end.kind) {
    case ProductEnd::Kind::kNone: return x;
    case ProductEnd::Kind::kLeakyRelu: return IfThenElse(Lt(x, Zero(d)), Mul(x, Set(d, end.alpha)), x);
    case ProductEnd::Kind::kClip: return ClampV(x, Set(d, end.alpha), Set(d, end.beta));
    case ProductEnd::Kind::kSwish: {
      HWY_ALIGN float values[MaxLanes(D())];
      Store(x, d, values);
      SwishAll(values, static_cast<int64_t>(Lanes(d)));
      return Load(d, values);
    }
  }
  return x;
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PLUMB_SIMD_PRODUCT_END_INL_H_
