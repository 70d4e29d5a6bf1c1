// Float rows of binary.def on vectors: both operands contiguous, or one of them a single value.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/binary.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/broadcast.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

HWY_NOINLINE V32 PowLaneByLane(F32 d, V32 a, V32 b) {
  HWY_ALIGN float base[kMaxLanes];
  HWY_ALIGN float exponent[kMaxLanes];
  Store(a, d, base);
  Store(b, d, exponent);
  for (size_t i = 0; i < Lanes(d); ++i) {
    base[i] = static_cast<float>(std::pow(static_cast<double>(base[i]), static_cast<double>(exponent[i])));
  }
  return Load(d, base);
}

HWY_INLINE V64 PowF64(F64 d, V64 a, V64 b) {
  return Exp(d, Min(Max(Mul(b, Log(d, a)), Set(d, -700.0)), Set(d, 700.0)));
}

// Positive finite bases with finite exponents in float64 vectors; a vector with any other lane goes to the C library.
HWY_INLINE V32 PowV(F32 d, V32 a, V32 b) {
  const V32 infinity = Set(d, kInfinity);
  const auto plain = And(And(Gt(a, Zero(d)), Lt(a, infinity)), Lt(Abs(b), infinity));
  if (HWY_UNLIKELY(!AllTrue(d, plain))) return PowLaneByLane(d, a, b);
  const Wide base = Widen(d, a), exponent = Widen(d, b);
  return Narrow(d, {PowF64(F64(), base.low, exponent.low), PowF64(F64(), base.high, exponent.high)});
}

#define PLUMB_SIMD_BINARY(name, vector, ...)                                         \
  struct name##Op {                                                                  \
    HWY_INLINE V32 operator()(F32 d, V32 a, V32 b) const { return (void)d, vector; } \
  };
#include "simd/binary.def"
#undef PLUMB_SIMD_BINARY

// kAStep and kBStep are 0 or 1. The padding lanes of the tail are 1, harmless to every row.
template <int kAStep, int kBStep, class Op>
HWY_INLINE void MapBinary(const Op& op, const float* a, const float* b, float* dst, size_t n) {
  const F32 d;
  const size_t lanes = Lanes(d);
  const V32 a_value = Set(d, *a);
  const V32 b_value = Set(d, *b);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = n - i;
    V32 va = a_value, vb = b_value;
    if (HWY_LIKELY(left >= lanes)) {
      if (kAStep != 0) va = LoadU(d, a + i);
      if (kBStep != 0) vb = LoadU(d, b + i);
      StoreU(op(d, va, vb), d, dst + i);
      continue;
    }
    if (kAStep != 0) va = LoadPart(d, a + i, left, 1.0f);
    if (kBStep != 0) vb = LoadPart(d, b + i, left, 1.0f);
    StorePart(op(d, va, vb), d, dst + i, left);
  }
}

template <class Op>
void MapBinaryBySteps(const Op& op, const float* a, int a_step, const float* b, int b_step, float* dst, size_t n) {
  if (a_step != 0 && b_step != 0) return MapBinary<1, 1>(op, a, b, dst, n);
  if (a_step != 0) return MapBinary<1, 0>(op, a, b, dst, n);
  MapBinary<0, 1>(op, a, b, dst, n);
}

void RunBinaryRow(BinaryOp op, const float* a, int a_step, const float* b, int b_step, float* dst, size_t n) {
  switch (op) {
#define PLUMB_SIMD_BINARY(name, ...) \
  case BinaryOp::k##name:            \
    return MapBinaryBySteps(name##Op(), a, a_step, b, b_step, dst, n);
#include "simd/binary.def"
#undef PLUMB_SIMD_BINARY
    case BinaryOp::kNumOps: return;
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "simd/unary.h"

namespace plumb::simd {

HWY_EXPORT(RunBinaryRow);

void BinaryRow(BinaryOp op, const float* a, int a_step, const float* b, int b_step, float* dst, size_t n) {
  if (n == 0) return;
  if (a_step == 0 && b_step == 0) n = 1;  // a plan of one element
  if (op == BinaryOp::kPlumbPow && a_step != 0 && b_step == 0) {
    return Unary(UnaryOp::kPower, {1.0f, 0.0f, *b}, a, dst, n);
  }
  PLUMB_SIMD_CALL(RunBinaryRow)(op, a, a_step, b, b_step, dst, n);
}

void Binary(BinaryOp op, const BroadcastPlan& plan, const float* a, const float* b, float* dst, int64_t begin,
            int64_t end) {
  ForEachBroadcastRow(plan, begin, end, [&](int64_t a_at, int64_t b_at, int64_t dst_at, int64_t count) {
    BinaryRow(op, a + a_at, plan.a_step, b + b_at, plan.b_step, dst + dst_at, static_cast<size_t>(count));
  });
}

const char* BinaryName(BinaryOp op) {
  switch (op) {
#define PLUMB_SIMD_BINARY(name, ...) \
  case BinaryOp::k##name:            \
    return #name;
#include "simd/binary.def"
#undef PLUMB_SIMD_BINARY
    case BinaryOp::kNumOps: break;
  }
  return "unknown";
}

}  // namespace plumb::simd
#endif
