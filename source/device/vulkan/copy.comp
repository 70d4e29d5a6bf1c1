#version 450
// SPDX-License-Identifier: Apache-2.0
// Moves elements along a strided walk on both sides: Permute, slices, Tile, Concat ... by element size (-DTYPE_b1 ..
// _b8).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Dst { T dst[]; };
layout(std430, binding = 1) readonly buffer Src { T src[]; };
layout(push_constant) uniform Params {
  uint count;
  int src_offset, dst_offset;
  uint dims[9];
  int src_strides[9];
  uint dst_strides[9];
};

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  uint rest = i;
  int from = src_offset, to = dst_offset;
  for (int d = kRank - 1; d >= 0; --d) {
    const uint at = rest % dims[d];
    rest /= dims[d];
    from += int(at) * src_strides[d];
    to += int(at * dst_strides[d]);
  }
  dst[to] = src[from];
}
