#version 450
// SPDX-License-Identifier: Apache-2.0
// Pad: where an output position lies outside the input it is filled (kMode 0), reflected (1) or the border repeats (2).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kMode = 0;
layout(constant_id = 1) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Dst { T dst[]; };
layout(std430, binding = 1) readonly buffer Src { T src[]; };
layout(std430, binding = 2) readonly buffer Fill { T fill[]; };
layout(push_constant) uniform Params {
  uint count;
  int in_dims[9], out_dims[9], begins[9];
};

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  int rest = int(i), at = 0, step = 1;
  bool inside = true;
  for (int d = kRank - 1; d >= 0; --d) {
    int p = rest % out_dims[d] - begins[d];
    rest /= out_dims[d];
    if (kMode == 0) {
      inside = inside && p >= 0 && p < in_dims[d];
    } else if (kMode == 1) {
      p = p < 0 ? -p : p;
      p = p >= in_dims[d] ? 2 * (in_dims[d] - 1) - p : p;
    } else {
      p = clamp(p, 0, in_dims[d] - 1);
    }
    at += p * step;
    step *= in_dims[d];
  }
  if (inside) {
    dst[i] = src[at];
  } else {
    dst[i] = fill[0];
  }
}
