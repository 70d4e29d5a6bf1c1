#version 450
// SPDX-License-Identifier: Apache-2.0
// y = scale[c] x + bias[c], c = (i / inner) % channels; kPrelu 1: y = x < 0 ? scale[c] x : x.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"

layout(constant_id = 0) const int kPrelu = 0;
// NC4HW4: `channels` in whole quads, the coefficients behind the last one 0.
layout(constant_id = 1) const int kChannel4 = 0;
layout(std430, binding = 0) writeonly buffer Y { S y[]; };
layout(std430, binding = 1) readonly buffer X { S x[]; };
layout(std430, binding = 2) readonly buffer Scale { float scale[]; };
layout(std430, binding = 3) readonly buffer Bias { float bias[]; };
layout(push_constant) uniform Params { uint count, channels, inner; };

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const uint c = kChannel4 != 0 ? i / (4 * inner) % (channels / 4) * 4 + (i & 3) : i / inner % channels;
  const float v = Load(x[i]);
  precise float result;
  if (kPrelu != 0) {
    result = v < 0.0 ? scale[c] * v : v;
  } else {
    result = fma(scale[c], v, bias[c]);
  }
  y[i] = Store(result);
}
