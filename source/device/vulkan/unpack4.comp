#version 450
// SPDX-License-Identifier: Apache-2.0
// NC4HW4 to NCHW (channel4_layout.h): one invocation spreads the four channels of a pixel.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"

layout(std430, binding = 0) writeonly buffer Dst { float dst[]; };
layout(std430, binding = 1) readonly buffer Src { S4 src[]; };
layout(push_constant) uniform Params { uint count, channels, pixels, quads; };

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const uint p = i % pixels, q = i / pixels % quads, n = i / (pixels * quads);
  const uint to = (n * channels + q * 4) * pixels + p;
  const vec4 v = Load(src[i]);
  for (int lane = 0; lane < 4; ++lane) {
    if (q * 4 + lane < channels) dst[to + lane * pixels] = v[lane];
  }
}
