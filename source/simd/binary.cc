// SPDX-License-Identifier: Apache-2.0
// Float rows of binary.def on vectors: both operands contiguous, or one of them a single value.
#include "simd/targets.h"

#include <algorithm>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/binary.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/binary.h"
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

constexpr int64_t kMaxRepeated = 64;  // values; longer rows need no help

void BinaryRow(BinaryOp op, const float* a, int a_step, const float* b, int b_step, float* dst, size_t n) {
  if (n == 0) return;
  if (a_step == 0 && b_step == 0) n = 1;  // a plan of one element
  if (op == BinaryOp::kPlumbPow && a_step != 0 && b_step == 0) {
    return Unary(UnaryOp::kPower, {1.0f, 0.0f, *b}, a, dst, n);
  }
  PLUMB_SIMD_CALL(RunBinaryRow)(op, a, a_step, b, b_step, dst, n);
}

namespace {

// The innermost two dimensions as one row, where rows are short and one operand has the same one again and again (a
// factor per channel over the pixels of channel blocks). row 0: they are not so.
BroadcastPlan OverRepeats(const BroadcastPlan& plan) {
  BroadcastPlan longer;
  longer.row = 0;
  const int inner = plan.rank - 1;
  if (inner < 0 || plan.rows * plan.row == 0 || plan.row > kMaxRepeated) return longer;
  if (plan.a_step + plan.b_step != 2) return longer;
  const bool a_repeats = plan.a_stride[inner] == 0 && plan.b_stride[inner] == plan.row;
  const bool b_repeats = plan.b_stride[inner] == 0 && plan.a_stride[inner] == plan.row;
  if (!a_repeats && !b_repeats) return longer;
  longer = plan;
  longer.rank = inner;
  longer.rows /= plan.extent[inner];
  longer.row *= plan.extent[inner];
  (a_repeats ? longer.a_step : longer.b_step) = 0;
  return longer;
}

void RepeatedBinary(BinaryOp op, const BroadcastPlan& longer, int64_t period, const float* a, const float* b,
                    float* dst, int64_t begin, int64_t end) {
  float repeated[4 * kMaxRepeated];
  const int64_t piece = 4 * kMaxRepeated / period * period;
  ForEachBroadcastRow(longer, begin, end, [&](int64_t a_at, int64_t b_at, int64_t dst_at, int64_t count) {
    const float* same = longer.a_step == 0 ? a + a_at : b + b_at;
    for (int64_t i = 0, from = dst_at % longer.row % period; i < std::min(count, piece); ++i) {
      repeated[i] = same[from];
      if (++from == period) from = 0;
    }
    for (int64_t i = 0; i < count; i += piece) {
      const float* left = longer.a_step == 0 ? repeated : a + a_at + i;
      const float* right = longer.b_step == 0 ? repeated : b + b_at + i;
      BinaryRow(op, left, 1, right, 1, dst + dst_at + i, static_cast<size_t>(std::min(piece, count - i)));
    }
  });
}

}  // namespace

void Binary(BinaryOp op, const BroadcastPlan& plan, const float* a, const float* b, float* dst, int64_t begin,
            int64_t end) {
  const BroadcastPlan longer = OverRepeats(plan);
  if (longer.row > 0) return RepeatedBinary(op, longer, plan.row, a, b, dst, begin, end);
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
