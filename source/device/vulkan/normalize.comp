#version 450
// y = x / max(norm, epsilon) along the middle of [outer, n, inner]; kNorm: 1 sum |x|, 2 sqrt(sum x^2), 3 max |x|, 4 min |x|.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "sum.glslh"

layout(constant_id = 0) const int kNorm = 2;
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(push_constant) uniform Params {
  uint count, n, inner;
  float epsilon;
};

float NormOf(uint at) {
  if (kNorm >= 3) {
    float best = kNorm == 3 ? 0.0 : Infinity();
    for (uint i = 0; i < n; ++i) {
      const float v = abs(x[at + i * inner]);
      if (!IsNaN(best) && (IsNaN(v) || (kNorm == 3 ? v > best : v < best))) best = v;
    }
    return best;
  }
  Sum sum = NewSum();
  for (uint i = 0; i < n; ++i) {
    const float v = x[at + i * inner];
    precise float term = kNorm == 1 ? abs(v) : v * v;
    Add(sum, term);
  }
  return kNorm == 1 ? Value(sum) : sqrt(Value(sum));
}

void main() {
  const uint row = LinearId();
  if (row >= count) return;
  const uint at = row / inner * n * inner + row % inner;
  float norm = NormOf(at);
  if (norm < epsilon) norm = epsilon;
  for (uint i = 0; i < n; ++i) {
    precise float v = x[at + i * inner] / norm;
    y[at + i * inner] = v;
  }
}
