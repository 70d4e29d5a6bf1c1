#version 450
// SPDX-License-Identifier: Apache-2.0
// Softmax (kLog 0) or its logarithm (1) along the middle of [outer, n, inner].
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"
#include "row.glslh"

layout(constant_id = 2) const int kLog = 0;
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(push_constant) uniform Params { uint count, n, inner; };

// A NaN wins and stays.
float Larger(float a, float b) { return !(b <= a) && !IsNaN(a) ? b : a; }
float Plus(float a, float b) {
  precise float sum = a + b;
  return sum;
}
DEFINE_JOIN(float, LargestOfRow, Larger)
DEFINE_JOIN(float, SumOfRow, Plus)

void main() {
  const uint row = Row(), end = row < count ? n : 0;
  const uint at = row < count ? row / inner * n * inner + row % inner : 0;
  float top = -Infinity();
  for (uint i = Lane(); i < end; i += kLanes) top = Larger(top, x[at + i * inner]);
  top = LargestOfRow(top);
  precise float sum = 0.0;
  for (uint i = Lane(); i < end; i += kLanes) sum += Exp(x[at + i * inner] - top);
  sum = SumOfRow(sum);
  const float log_sum = kLog != 0 ? Log(sum) : 0.0;
  for (uint i = Lane(); i < end; i += kLanes) {
    precise float shifted = x[at + i * inner] - top;
    precise float value = kLog != 0 ? shifted - log_sum : Exp(shifted) / sum;
    y[at + i * inner] = value;
  }
}
