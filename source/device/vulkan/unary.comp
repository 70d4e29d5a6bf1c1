#version 450
// y = f(x), element by element; kOp picks the function (unary.cc lists them in this order).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "math.glslh"

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kChannel4 = 0;  // the blob is in NC4HW4
layout(std430, binding = 0) writeonly buffer Y { S y[]; };
layout(std430, binding = 1) readonly buffer X { S x[]; };
layout(push_constant) uniform Params {
  uint count;
  uint channels, pixels;
  float alpha, beta, gamma;
};

float Clamp(float v, float low, float high) {
  precise float y = v < low ? low : v;  // NaN stays
  return y > high ? high : y;
}

float HardSigmoid(float v) {
  precise float y = fma(v, alpha, beta);
  return Clamp(y, 0.0, 1.0);
}

// Small whole exponents by multiplication, which keeps the sign and needs no logarithm.
float Power(float v) {
  precise float base = fma(v, alpha, beta);
  if (gamma == 1.0) return base;
  if (gamma == 2.0) return base * base;
  if (gamma == 0.5 && base >= 0.0) return sqrt(base);
  return Pow(base, gamma);
}

float Apply(float v) {
  switch (kOp) {
    case 0: return v < 0.0 ? 0.0 : v;
    case 1: return Clamp(v, 0.0, 6.0);
    case 2: return IsNaN(v) ? v : Sigmoid(v);
    case 3: return -Softplus(-v);
    case 4: return v * Sigmoid(v);
    case 5: return Tanh(v);
    case 6: return Gelu(v);
    case 7: return Erf(v);
    case 8: return Softplus(v);
    case 9: return v / (1.0 + abs(v));
    case 10: return Exp(v);
    case 11: return Log(v);
    case 12: return sqrt(v);
    case 13: return 1.0 / sqrt(v);
    case 14: return 1.0 / v;
    case 15: return abs(v);
    case 16: return -v;
    case 17: return floor(v);
    case 18: return ceil(v);
    case 19: return v > 0.0 ? 1.0 : (v < 0.0 ? -1.0 : v);
    case 20: return Wave(v, 0);
    case 21: return Wave(v, 1);
    case 22: return Tan(v);
    case 23: return Asin(v);
    case 24: return Acos(v);
    case 25: return Atan(v);
    case 26: return v < 0.0 ? alpha * v : v;
    case 27: return v > 0.0 ? v : alpha * Expm1(v);
    case 28: return gamma * (v > 0.0 ? v : alpha * Expm1(v));
    case 29: return HardSigmoid(v);
    case 30: return v * HardSigmoid(v);
    case 31: return Clamp(v, alpha, beta);
    case 32: return Power(v);
    case 33: return Sinh(v);
    case 34: return Cosh(v);
    case 35: return Asinh(v);
    case 36: return Acosh(v);
    case 37: return Atanh(v);
    case 38: return v * Tanh(Softplus(v));
    case 39: return roundEven(v);
    case 40: {
      const float low = alpha * Expm1(v / alpha);
      return (v < 0.0 ? 0.0 : v) + (low > 0.0 ? 0.0 : low);
    }
    case 41: return v > alpha || IsNaN(v) ? v : 0.0;
    default: return v < -alpha ? v + beta : (v > alpha ? v - beta : (IsNaN(v) ? v : 0.0));
  }
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  precise float result = Apply(Load(x[i]));
  y[i] = Store(kChannel4 != 0 && IsTail(i, channels, pixels) ? 0.0 : result);
}
