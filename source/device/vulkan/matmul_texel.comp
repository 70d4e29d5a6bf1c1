#version 450
// SPDX-License-Identifier: Apache-2.0
// Products of plain matrices for drivers that run on a CPU: one invocation computes ROWS rows of eight columns and
// reads through texel buffers. a is m x k, w k x n, k and n multiples of 4. Then bias per column (has_bias) and an
// activation. -DROWS=8 or 1, -DSWISH. A launch adds the quads [first_quad, last_quad) of k to what launches before it
// left in y (loop_rounds.h).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"
#include "activation.glslh"

#if ROWS == 8
#define EACH(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#else
#define EACH(M) M(0)
#endif

layout(std430, binding = 0) buffer Y { vec4 y[]; };
layout(binding = 1) uniform samplerBuffer a;
layout(binding = 2) uniform samplerBuffer w;
layout(std430, binding = 3) readonly buffer Matrices { uint matrices[]; };  // first and second of each output matrix
layout(binding = 4) uniform samplerBuffer bias;
layout(push_constant) uniform Params {
  uint count;
  int m, n_quads, k_quads, row_blocks, column_blocks;
  int has_bias;
  float slope, low, high;
  int first_quad, last_quad;
};

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int row = id % row_blocks * ROWS, column = id / row_blocks % column_blocks * 2;
  const int matrix = id / (row_blocks * column_blocks);
  const int first = int(matrices[2 * matrix]) * m * k_quads;
  const bool pair = column + 1 < n_quads;
  int at = int(matrices[2 * matrix + 1]) * k_quads * 4 * n_quads + column;
  int from[ROWS];
  vec4 p[ROWS], q[ROWS];
#define START(i)                                 \
  from[i] = first + min(row + i, m - 1) * k_quads; \
  p[i] = q[i] = vec4(0.0);
  EACH(START)
  const int next = pair ? 1 : 0;
  const int to = (matrix * m + row) * n_quads + column;
  if (first_quad > 0) {
#define RESUME(i)                              \
  if (row + i < m) {                           \
    p[i] = y[to + i * n_quads];                \
    if (pair) q[i] = y[to + i * n_quads + 1];  \
  }
    EACH(RESUME)
  }
  at += 4 * n_quads * first_quad;
  for (int k = first_quad; k < last_quad; ++k) {
    vec4 v[ROWS];
#define READ(i) v[i] = texelFetch(a, from[i] + k);
    EACH(READ)
    const vec4 w0 = texelFetch(w, at), w1 = texelFetch(w, at + next);
    const vec4 w2 = texelFetch(w, at + n_quads), w3 = texelFetch(w, at + n_quads + next);
    const vec4 w4 = texelFetch(w, at + 2 * n_quads), w5 = texelFetch(w, at + 2 * n_quads + next);
    const vec4 w6 = texelFetch(w, at + 3 * n_quads), w7 = texelFetch(w, at + 3 * n_quads + next);
    at += 4 * n_quads;
#define ADD(i)                      \
  p[i] = fma(v[i].xxxx, w0, p[i]);  \
  p[i] = fma(v[i].yyyy, w2, p[i]);  \
  p[i] = fma(v[i].zzzz, w4, p[i]);  \
  p[i] = fma(v[i].wwww, w6, p[i]);  \
  q[i] = fma(v[i].xxxx, w1, q[i]);  \
  q[i] = fma(v[i].yyyy, w3, q[i]);  \
  q[i] = fma(v[i].zzzz, w5, q[i]);  \
  q[i] = fma(v[i].wwww, w7, q[i]);
    EACH(ADD)
  }
  if (last_quad < k_quads) {
#define KEEP(i)                                \
  if (row + i < m) {                           \
    y[to + i * n_quads] = p[i];                \
    if (pair) y[to + i * n_quads + 1] = q[i];  \
  }
    EACH(KEEP)
    return;
  }
  const vec4 bias_p = has_bias != 0 ? texelFetch(bias, column) : vec4(0.0);
  const vec4 bias_q = has_bias != 0 ? texelFetch(bias, column + next) : vec4(0.0);
#define STORE(i)                                                                      \
  if (row + i < m) {                                                                  \
    y[to + i * n_quads] = Activate4(p[i] + bias_p, slope, low, high);                 \
    if (pair) y[to + i * n_quads + 1] = Activate4(q[i] + bias_q, slope, low, high);   \
  }
  EACH(STORE)
}
