#version 450
// y = a op b with broadcasting, for f32, i32 and i64 (-DTYPE_...); kOp picks the operator (binary.cc lists them in this order).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"
#ifdef TYPE_f32
#include "half.glslh"
#else
#define S T
#define Load(v) v
#define Store(v) v
#endif
#ifdef TYPE_f32
#include "math.glslh"
#endif

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kRank = 1;
layout(constant_id = 2) const int kChannel4 = 0;  // the blobs are in NC4HW4
layout(std430, binding = 0) writeonly buffer Y { S y[]; };
layout(std430, binding = 1) readonly buffer A { S a[]; };
layout(std430, binding = 2) readonly buffer B { S b[]; };
layout(push_constant) uniform Params {
  uint count;
  float alpha, beta;  // of the gate
  uint channels, pixels;
  uint dims[8], a_strides[8], b_strides[8];
};

#ifdef TYPE_f32
float Apply(float p, float q) {
  switch (kOp) {
    case 0: return p + q;
    case 1: return p - q;
    case 2: return p * q;
    case 3: return p / q;
    case 4: return IsNaN(p) || p > q ? p : q;
    case 5: return IsNaN(p) || p < q ? p : q;
    case 6: {
      precise float d = p - q;
      return d * d;
    }
    case 7: return Pow(p, q);
    default: {  // HardSwish of two inputs
      precise float gate = fma(q, alpha, beta);
      gate = gate < 0.0 ? 0.0 : gate;
      return p * (gate > 1.0 ? 1.0 : gate);
    }
  }
}
#else
// Wraps round; a negative exponent truncates to 0 except for the bases 1 and -1.
T WholePower(T base, T exponent) {
  if (exponent < T(0)) return base == T(1) ? T(1) : (base == T(-1) ? ((exponent & T(1)) == T(0) ? T(1) : T(-1)) : T(0));
  T factor = base, power = T(1);
  for (T left = exponent; left != T(0); left >>= 1) {
    if ((left & T(1)) != T(0)) power *= factor;
    factor *= factor;
  }
  return power;
}

T Apply(T p, T q) {
  switch (kOp) {
    case 0: return p + q;
    case 1: return p - q;
    case 2: return p * q;
    case 3:
      if (q == T(0)) return T(0);
      return q == T(-1) ? T(0) - p : p / q;
    case 4: return p > q ? p : q;
    case 5: return p < q ? p : q;
    case 6: return (p - q) * (p - q);
    default: return WholePower(p, q);
  }
}
#endif

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  uint rest = i, ia = 0, ib = 0;
  for (int d = kRank - 1; d >= 0; --d) {
    const uint at = rest % dims[d];
    rest /= dims[d];
    ia += at * a_strides[d];
    ib += at * b_strides[d];
  }
  precise T result = Apply(Load(a[ia]), Load(b[ib]));
  y[i] = Store(kChannel4 != 0 && IsTail(i, channels, pixels) ? T(0) : result);
}
