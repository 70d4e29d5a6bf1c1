#version 450
// SPDX-License-Identifier: Apache-2.0
// Products of plain matrices for GPUs: a workgroup computes 64 rows of 32 columns from tiles of 16 in shared memory, an
// invocation 8 rows of four columns. a is m x k, w k x n, or n x k with kTransposed 1. Then bias per column (kBias) and
// an activation.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"
#include "activation.glslh"

layout(constant_id = 0) const int kTransposed = 0;
layout(constant_id = 1) const int kBias = 0;
layout(constant_id = 2) const int kActivation = 0;
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer A { float a[]; };
layout(std430, binding = 2) readonly buffer W { float w[]; };
layout(std430, binding = 3) readonly buffer Matrices { uint matrices[]; };  // first and second of each output matrix
layout(std430, binding = 4) readonly buffer Bias { float bias[]; };
layout(push_constant) uniform Params {
  uint m, n, k;
  float low, high;
};

shared float rows[16][65];  // one more, so that neighbours lie in different banks
shared vec4 columns[16][8];

void main() {
  const uint id = gl_LocalInvocationIndex, lane = id & 7, row_lane = id >> 3;
  const uint first_row = gl_WorkGroupID.x * 64, first_column = gl_WorkGroupID.y * 32, matrix = gl_WorkGroupID.z;
  const uint from_a = matrices[2 * matrix] * m * k, from_w = matrices[2 * matrix + 1] * k * n;
  vec4 sum[8];
  for (int i = 0; i < 8; ++i) sum[i] = vec4(0.0);
  for (uint step = 0; step < k; step += 16) {
    for (uint e = id; e < 1024; e += 64) {
      const uint row = first_row + e / 16, p = step + e % 16;
      rows[e % 16][e / 16] = row < m && p < k ? a[from_a + row * k + p] : 0.0;
    }
    for (uint e = id; e < 512; e += 64) {
      const uint inner = kTransposed != 0 ? e % 16 : e / 32, outer = kTransposed != 0 ? e / 16 : e % 32;
      const uint p = step + inner, column = first_column + outer;
      const uint at = kTransposed != 0 ? column * k + p : p * n + column;
      columns[inner][outer / 4][outer % 4] = p < k && column < n ? w[from_w + at] : 0.0;
    }
    barrier();
    for (int p = 0; p < 16; ++p) {
      const vec4 v = columns[p][lane];
      for (int i = 0; i < 8; ++i) sum[i] = fma(vec4(rows[p][row_lane + 8 * i]), v, sum[i]);
    }
    barrier();
  }
  for (int i = 0; i < 8; ++i) {
    const uint row = first_row + row_lane + 8 * i;
    for (int j = 0; j < 4; ++j) {
      const uint column = first_column + lane * 4 + j;
      if (row >= m || column >= n) continue;
      precise float result = sum[i][j];
      if (kBias != 0) result += bias[column];
      y[(matrix * m + row) * n + column] = Activate(kActivation, result, low, high);
    }
  }
}
