// The rows of unary_math.def, each compiled into one loop per target.
#include "device/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/simd/unary_math.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "device/simd/dispatch.h"
#include "device/simd/loop-inl.h"
#include "device/simd/math-inl.h"
#include "device/simd/unary_groups.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

#define PLUMB_SIMD_UNARY(name, ...)                                                \
  struct name##Op {                                                                \
    UnaryParams p;                                                                 \
    HWY_INLINE V32 operator()(F32 d, V32 x) const { return (void)d, __VA_ARGS__; } \
  };
#include "device/simd/unary_math.def"
#undef PLUMB_SIMD_UNARY

void RunUnaryMath(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n) {
  switch (op) {
#define PLUMB_SIMD_UNARY(name, ...) \
  case UnaryOp::k##name:            \
    return MapUnary(name##Op{params}, src, dst, n);
#include "device/simd/unary_math.def"
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
