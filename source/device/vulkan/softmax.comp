#version 450
// Softmax (kLog 0) or its logarithm (1) along the middle of [outer, n, inner]: one invocation per row.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"

layout(constant_id = 0) const int kLog = 0;
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(push_constant) uniform Params { uint count, n, inner; };

void main() {
  const uint row = LinearId();
  if (row >= count) return;
  const uint at = row / inner * n * inner + row % inner;
  float top = -Infinity();
  for (uint i = 0; i < n; ++i) {
    const float v = x[at + i * inner];
    if (!(v <= top) && !IsNaN(top)) top = v;  // a NaN wins and stays
  }
  precise float sum = 0.0;
  for (uint i = 0; i < n; ++i) sum += Exp(x[at + i * inner] - top);
  const float log_sum = kLog != 0 ? Log(sum) : 0.0;
  for (uint i = 0; i < n; ++i) {
    precise float shifted = x[at + i * inner] - top;
    precise float value = kLog != 0 ? shifted - log_sum : Exp(shifted) / sum;
    y[at + i * inner] = value;
  }
}
