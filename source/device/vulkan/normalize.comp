#version 450
// SPDX-License-Identifier: Apache-2.0
// y = x / max(norm, epsilon) along the middle of [outer, n, inner].
// kNorm: 1 sum |x|, 2 sqrt(sum x^2), 3 max |x|, 4 min |x|.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "sum.glslh"
#include "row.glslh"

layout(constant_id = 2) const int kNorm = 2;
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(push_constant) uniform Params {
  uint count, n, inner;
  float epsilon;
};

// A NaN wins and stays.
float Extreme(float a, float b) { return !IsNaN(a) && (IsNaN(b) || (kNorm == 3 ? b > a : b < a)) ? b : a; }
DEFINE_JOIN(float, ExtremeOfRow, Extreme)
DEFINE_JOIN(Sum, SumOfRow, Both)

float NormOf(uint at, uint end) {
  if (kNorm >= 3) {
    float best = kNorm == 3 ? 0.0 : Infinity();
    for (uint i = Lane(); i < end; i += kLanes) best = Extreme(best, abs(x[at + i * inner]));
    return ExtremeOfRow(best);
  }
  Sum sum = NewSum();
  for (uint i = Lane(); i < end; i += kLanes) {
    const float v = x[at + i * inner];
    precise float term = kNorm == 1 ? abs(v) : v * v;
    Add(sum, term);
  }
  const float total = Value(SumOfRow(sum));
  return kNorm == 1 ? total : sqrt(total);
}

void main() {
  const uint row = Row(), end = row < count ? n : 0;
  const uint at = row < count ? row / inner * n * inner + row % inner : 0;
  float norm = NormOf(at, end);
  if (norm < epsilon) norm = epsilon;
  for (uint i = Lane(); i < end; i += kLanes) {
    precise float v = x[at + i * inner] / norm;
    y[at + i * inner] = v;
  }
}
