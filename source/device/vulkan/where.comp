#version 450
// SPDX-License-Identifier: Apache-2.0
// out = condition ? x : y with broadcasting, by element size (-DTYPE_b1 .. _b8) and the condition's (-DCONDITION=type).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Out { T dst[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(std430, binding = 2) readonly buffer Y { T y[]; };
layout(std430, binding = 3) readonly buffer C { CONDITION condition[]; };
layout(push_constant) uniform Params {
  uint count;
  uint dims[7], x_strides[7], y_strides[7], condition_strides[7];
};

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  uint rest = i, ix = 0, iy = 0, ic = 0;
  for (int d = kRank - 1; d >= 0; --d) {
    const uint at = rest % dims[d];
    rest /= dims[d];
    ix += at * x_strides[d];
    iy += at * y_strides[d];
    ic += at * condition_strides[d];
  }
  if (condition[ic] != CONDITION(0)) {
    dst[i] = x[ix];
  } else {
    dst[i] = y[iy];
  }
}
