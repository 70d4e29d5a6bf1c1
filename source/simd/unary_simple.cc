// SPDX-License-Identifier: Apache-2.0
// The rows of unary_simple.def, each compiled into one loop per target.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/unary_simple.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/unary_groups.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// max(lo, min(x, hi)) that keeps NaN, whatever Min and Max do with it.
HWY_INLINE V32 Clamp(F32 d, V32 x, float lo, float hi) {
  const V32 low = Set(d, lo);
  const V32 high = Set(d, hi);
  const V32 y = IfThenElse(Lt(x, low), low, x);
  return IfThenElse(Gt(y, high), high, y);
}

HWY_INLINE V32 HardSigmoid(F32 d, V32 x, const UnaryParams& p) {
  return Clamp(d, MulAdd(x, Set(d, p.alpha), Set(d, p.beta)), 0.0f, 1.0f);
}

#define PLUMB_SIMD_UNARY(name, ...)                                                \
  struct name##Op {                                                                \
    UnaryParams p;                                                                 \
    HWY_INLINE V32 operator()(F32 d, V32 x) const { return (void)d, __VA_ARGS__; } \
  };
#include "simd/unary_simple.def"
#undef PLUMB_SIMD_UNARY

void RunUnarySimple(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n) {
  switch (op) {
#define PLUMB_SIMD_UNARY(name, ...) \
  case UnaryOp::k##name:            \
    return MapUnary(name##Op{params}, src, dst, n);
#include "simd/unary_simple.def"
#undef PLUMB_SIMD_UNARY
    default: return;
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunUnarySimple);

void UnarySimple(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n) {
  PLUMB_SIMD_CALL(RunUnarySimple)(op, params, src, dst, n);
}

}  // namespace plumb::simd
#endif
