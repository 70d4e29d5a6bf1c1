#version 450
// Reductions: the first kKept of kRank dims walk the output, the others its terms; one invocation per output.
// kOp: 0 Sum 1 Mean 2 Max 3 Min 4 Prod 5 L1 6 L2 7 SumSquare 8 LogSum 9 LogSumExp; -DTYPE_f32, _i32, _i64 (wrapping).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"
#ifdef TYPE_f32
#include "math.glslh"
#include "sum.glslh"
#endif

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kKept = 1;
layout(constant_id = 2) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Y { T y[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(push_constant) uniform Params {
  uint count, terms;
  uint dims[9], strides[9];
};

uint Base(uint i) {
  uint at = 0;
  for (int d = kKept - 1; d >= 0; --d) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

uint Offset(uint i) {
  uint at = 0;
  for (int d = kRank - 1; d >= kKept; --d) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

#ifdef TYPE_f32
float Extreme(uint base, bool largest) {
  float best = largest ? -Infinity() : Infinity();
  for (uint i = 0; i < terms; ++i) {
    const float v = x[base + Offset(i)];
    if (!IsNaN(best) && (IsNaN(v) || (largest ? v > best : v < best))) best = v;
  }
  return best;
}

float Reduce(uint base) {
  if (kOp == 2 || kOp == 3) return Extreme(base, kOp == 2);
  if (kOp == 4) {
    precise float product = 1.0;
    for (uint i = 0; i < terms; ++i) product *= x[base + Offset(i)];
    return product;
  }
  float shift = 0.0;
  if (kOp == 9) {
    shift = Extreme(base, true);
    if (!IsFinite(shift)) return shift;
  }
  Sum sum = NewSum();
  for (uint i = 0; i < terms; ++i) {
    const float v = x[base + Offset(i)];
    precise float term = v;
    if (kOp == 5) term = abs(v);
    if (kOp == 6 || kOp == 7) term = v * v;
    if (kOp == 9) term = Exp(v - shift);
    Add(sum, term);
  }
  const float total = Value(sum);
  switch (kOp) {
    case 1: return total / float(terms);
    case 6: return sqrt(total);
    case 8: return Log(total);
    case 9: return shift + Log(total);
    default: return total;
  }
}
#else
#ifdef TYPE_i32
const int kBits = 32;
#else
const int kBits = 64;
#endif

T Reduce(uint base) {
  T result = kOp == 4 ? T(1) : T(0);
  if (kOp == 2 || kOp == 3) {
    T low = T(1) << (kBits - 1);
    result = kOp == 2 ? low : ~low;
  }
  for (uint i = 0; i < terms; ++i) {
    const T v = x[base + Offset(i)];
    switch (kOp) {
      case 0: result += v; break;
      case 2: result = v > result ? v : result; break;
      case 3: result = v < result ? v : result; break;
      case 4: result *= v; break;
      case 5: result += v < T(0) ? T(0) - v : v; break;
      default: result += v * v; break;
    }
  }
  return result;
}
#endif

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  precise T result = Reduce(Base(i));
  y[i] = result;
}
