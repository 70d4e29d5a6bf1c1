#version 450
// SPDX-License-Identifier: Apache-2.0
// y = a op b with broadcasting, for f32, i32 and i64 (-DTYPE_...); kOp is the row of op/binary.def, or the one behind
// the last: HardSwish of two inputs.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"
#ifdef TYPE_f32
#include "half.glslh"
#include "functions.glslh"
#else
#include "whole_numbers.glslh"
#define S T
#define Load(v) v
#define Store(v) v
#endif

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kRank = 1;
layout(constant_id = 2) const int kChannel4 = 0;  // the blobs are in NC4HW4
layout(std430, binding = 0) writeonly buffer Y { S y[]; };
layout(std430, binding = 1) readonly buffer A { S first[]; };
layout(std430, binding = 2) readonly buffer B { S second[]; };
layout(push_constant) uniform Params {
  uint count;
  float alpha, beta;  // of the gate
  uint channels, pixels;
  uint dims[8], a_strides[8], b_strides[8];
};

T Apply(T a, T b) {
  switch (kOp) {
#ifdef TYPE_f32
#include "binary_cases.glslh"
#else
#include "binary_whole_cases.glslh"
#endif
  }
#ifdef TYPE_f32
  return a * hard_sigmoid(b, alpha, beta);
#else
  return T(0);
#endif
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
  precise T result = Apply(Load(first[ia]), Load(second[ib]));
  y[i] = Store(kChannel4 != 0 && IsTail(i, channels, pixels) ? T(0) : result);
}
