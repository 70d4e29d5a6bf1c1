#version 450
// SPDX-License-Identifier: Apache-2.0
// Upsample, nearest: element floor(o in / out) on both axes; by element size (-DTYPE_b1 .. _b8).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(std430, binding = 0) writeonly buffer Dst { T dst[]; };
layout(std430, binding = 1) readonly buffer Src { T src[]; };
layout(push_constant) uniform Params {
  uint count, in_h, in_w, out_h, out_w;
};

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const uint w = i % out_w, h = i / out_w % out_h, plane = i / (out_w * out_h);
  dst[i] = src[(plane * in_h + h * in_h / out_h) * in_w + w * in_w / out_w];
}
