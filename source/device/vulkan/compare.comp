#version 450
// SPDX-License-Identifier: Apache-2.0
// y = a op b as bool, with broadcasting; kOp is the row of op/compare.def. -DTYPE_...
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Y { uint8_t y[]; };
layout(std430, binding = 1) readonly buffer A { T first[]; };
layout(std430, binding = 2) readonly buffer B { T second[]; };
layout(push_constant) uniform Params {
  uint count;
  uint dims[8], a_strides[8], b_strides[8];
};

#define ZERO T(0)
bool Apply(T a, T b) {
  switch (kOp) {
#include "compare_cases.glslh"
  }
  return false;
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  uint rest = i, ia = 0, ib = 0;
  for (int d = kRank - 1; d >= 0; --d) {
    const uint at = rest % dims[d];
    rest /= dims[d];
    ia += at * a_strides[d];
    ib += at * b_strides[d];
  }
  y[i] = Apply(first[ia], second[ib]) ? uint8_t(1) : uint8_t(0);
}
