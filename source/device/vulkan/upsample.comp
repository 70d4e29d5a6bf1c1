#version 450
// SPDX-License-Identifier: Apache-2.0
// Upsample (op/upsample.h), linear (kMode 2) and cubic (3). Positions are fractions of whole numbers, so they are
// exact: (2 o + 1) in / (2 out) - 1/2, or o (in - 1) / (out - 1) with kCorners.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"

layout(constant_id = 0) const int kMode = 2;
layout(constant_id = 1) const int kCorners = 0;
layout(std430, binding = 0) writeonly buffer Dst { float dst[]; };
layout(std430, binding = 1) readonly buffer Src { float src[]; };
layout(push_constant) uniform Params {
  uint count;
  int in_h, in_w, out_h, out_w;
};

struct Taps {
  int index[4];
  float weight[4];
};

float Near(float d) { return ((1.25 * d) - 2.25) * d * d + 1.0; }
float Far(float d) { return ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0; }

Taps AxisTaps(int o, int in_size, int out_size) {
  int numerator, denominator;
  if (kCorners != 0) {
    numerator = out_size == 1 ? 0 : o * (in_size - 1);
    denominator = out_size == 1 ? 1 : out_size - 1;
  } else {
    numerator = out_size == 1 ? -1 : (2 * o + 1) * in_size - out_size;
    denominator = out_size == 1 ? 2 : 2 * out_size;
  }
  Taps t;
  if (kMode == 2) numerator = clamp(numerator, 0, (in_size - 1) * denominator);
  int base = numerator / denominator;
  if (base * denominator > numerator) base -= 1;
  const float part = float(numerator - base * denominator) / float(denominator);
  if (kMode == 2) {
    t.index = int[4](base, min(base + 1, in_size - 1), 0, 0);
    t.weight = float[4](1.0 - part, part, 0.0, 0.0);
    return t;
  }
  t.weight = float[4](Far(1.0 + part), Near(part), Near(1.0 - part), Far(2.0 - part));
  for (int k = 0; k < 4; ++k) t.index[k] = clamp(base - 1 + k, 0, in_size - 1);
  return t;
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const int at = int(i);
  const int w = at % out_w, h = at / out_w % out_h, plane = at / (out_w * out_h);
  const Taps rows = AxisTaps(h, in_h, out_h), columns = AxisTaps(w, in_w, out_w);
  const int taps = kMode == 2 ? 2 : 4;
  precise float sum = 0.0;
  for (int r = 0; r < taps; ++r) {
    precise float part = 0.0;
    const int row = (plane * in_h + rows.index[r]) * in_w;
    for (int c = 0; c < taps; ++c) part += columns.weight[c] * src[row + columns.index[c]];
    sum += rows.weight[r] * part;
  }
  dst[i] = sum;
}
