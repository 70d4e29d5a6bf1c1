// SPDX-License-Identifier: Apache-2.0
// The rows of unary_math.def, each compiled into one loop per target.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/unary_math.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/math-inl.h"
#include "simd/unary_groups.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

#define PLUMB_SIMD_UNARY(name, ...)                                                \
  struct name##Op {                                                                \
    UnaryParams p;                                                                 \
    HWY_INLINE V32 operator()(F32 d, V32 x) const { return (void)d, __VA_ARGS__; } \
  };
#include "simd/unary_math.def"
#undef PLUMB_SIMD_UNARY

void RunUnaryMath(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n) {
  switch (op) {
#define PLUMB_SIMD_UNARY(name, ...) \
  case UnaryOp::k##name:            \
    return MapUnary(name##Op{params}, src, dst, n);
#include "simd/unary_math.def"
#undef PLUMB_SIMD_UNARY
    default: return;
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunUnaryMath);

void UnaryMath(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n) {
  PLUMB_SIMD_CALL(RunUnaryMath)(op, params, src, dst, n);
}

}  // namespace plumb::simd
#endif
