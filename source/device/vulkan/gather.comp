#version 450
// SPDX-License-Identifier: Apache-2.0
// Copies slices of `slice` elements, slice s from element starts[s] of the data; by element size (-DTYPE_b1 .. _b8).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(std430, binding = 0) writeonly buffer Dst { T dst[]; };
layout(std430, binding = 1) readonly buffer Src { T src[]; };
layout(std430, binding = 2) readonly buffer Starts { uint starts[]; };
layout(push_constant) uniform Params { uint count, slice; };

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  dst[i] = src[starts[i / slice] + i % slice];
}
