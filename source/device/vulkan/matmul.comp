#version 450
// SPDX-License-Identifier: Apache-2.0
// y[b] (m x n) = a[first[b]] (m x k) * w[second[b]], one invocation per output; kTransposed 1: w is n x k, as
// InnerProduct has it. Then bias per column (kBias) and an activation. A launch adds the products [first, last) of k to
// what launches before it left in y (loop_rounds.h).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"
#include "activation.glslh"

layout(constant_id = 0) const int kTransposed = 0;
layout(constant_id = 1) const int kBias = 0;
layout(constant_id = 2) const int kActivation = 0;
layout(std430, binding = 0) buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer A { float a[]; };
layout(std430, binding = 2) readonly buffer W { float w[]; };
layout(std430, binding = 3) readonly buffer Matrices { uint matrices[]; };  // first and second of each output matrix
layout(std430, binding = 4) readonly buffer Bias { float bias[]; };
layout(push_constant) uniform Params {
  uint count, m, n, k;
  float low, high;
  uint first, last;
};

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const uint column = i % n, row = i / n % m, matrix = i / (m * n);
  const uint from = (matrices[2 * matrix] * m + row) * k;
  const uint base = matrices[2 * matrix + 1] * k * n;
  const uint start = kTransposed != 0 ? base + column * k : base + column;
  const uint step = kTransposed != 0 ? 1 : n;
  float sum = first > 0 ? y[i] : 0.0;
  for (uint p = first; p < last; ++p) sum = fma(a[from + p], w[start + p * step], sum);
  if (last < k) {
    y[i] = sum;
    return;
  }
  precise float result = sum;
  if (kBias != 0) result += bias[column];
  y[i] = Activate(kActivation, result, low, high);
}
