#version 450
// SPDX-License-Identifier: Apache-2.0
// LRN across channels: y = x / (bias + alpha_per * sum of x^2 over the window)^beta (op/lrn.h).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"

layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(push_constant) uniform Params {
  uint count;
  int channels, inner, size;
  float alpha, beta, bias;
};

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const int at = int(i), c = at / inner % channels;
  const int first = max(0, c - (size - 1) / 2), last = min(channels, c + size / 2 + 1);
  precise float sum = 0.0;
  for (int k = first; k < last; ++k) {
    const float v = x[at + (k - c) * inner];
    sum = fma(v, v, sum);
  }
  precise float base = bias + alpha / float(size) * sum;
  precise float result = x[i] / Pow(base, beta);
  y[i] = result;
}
