#version 450
// SPDX-License-Identifier: Apache-2.0
// y = f(x), element by element; kOp is the row of op/unary.def, whose expressions unary_cases.glslh has.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "functions.glslh"

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kChannel4 = 0;  // the blob is in NC4HW4
layout(std430, binding = 0) writeonly buffer Y { S to[]; };
layout(std430, binding = 1) readonly buffer X { S from[]; };
layout(push_constant) uniform Params {
  uint count;
  uint channels, pixels;
  float a, b, c;
};

float Apply(float x) {
  switch (kOp) {
#include "unary_cases.glslh"
  }
  return 0.0;
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  precise float result = Apply(Load(from[i]));
  to[i] = Store(kChannel4 != 0 && IsTail(i, channels, pixels) ? 0.0 : result);
}
