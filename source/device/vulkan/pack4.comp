#version 450
// SPDX-License-Identifier: Apache-2.0
// NCHW to NC4HW4 (channel4_layout.h): one invocation makes the four channels of a pixel, zeros behind the last channel.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"

layout(std430, binding = 0) writeonly buffer Dst { S4 dst[]; };
layout(std430, binding = 1) readonly buffer Src { float src[]; };
layout(push_constant) uniform Params { uint count, channels, pixels, quads; };

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const uint p = i % pixels, q = i / pixels % quads, n = i / (pixels * quads);
  const uint from = (n * channels + q * 4) * pixels + p;
  vec4 v = vec4(0.0);
  for (int lane = 0; lane < 4; ++lane) {
    if (q * 4 + lane < channels) v[lane] = src[from + lane * pixels];
  }
  dst[i] = Store(v);
}
