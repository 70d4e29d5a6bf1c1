#version 450
// SPDX-License-Identifier: Apache-2.0
// Max or average pooling for GPUs, in NC4HW4: one invocation computes kStrip pixels of a row of four channels, from
// inputs that it reads once per row into registers. Windows of one size only; pooling.comp has the adaptive ones.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"

// What indexes registers is constant, so that loops over it unroll.
layout(constant_id = 0) const int kAverage = 0;
layout(constant_id = 1) const int kIncludePad = 0;
layout(constant_id = 2) const int kKernel = 3;
layout(constant_id = 3) const int kStride = 1;
const int kStrip = 4;
const int kSpan = (kStrip - 1) * kStride + kKernel;

layout(std430, binding = 0) writeonly buffer Y { S4 y[]; };
layout(std430, binding = 1) readonly buffer X { S4 x[]; };
layout(push_constant) uniform Params {
  uint count;
  int in_h, in_w, out_h, out_w;
  int kernel_h, stride_h, pad_top, pad_left, pad_bottom, pad_right;
  int channels;
};

float Larger(float best, float v) { return !IsNaN(best) && (IsNaN(v) || v > best) ? v : best; }
vec4 Larger(vec4 a, vec4 b) { return vec4(Larger(a.x, b.x), Larger(a.y, b.y), Larger(a.z, b.z), Larger(a.w, b.w)); }

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int strips = (out_w + kStrip - 1) / kStrip;
  const int first = id % strips * kStrip, row_id = id / strips, oh = row_id % out_h, plane = row_id / out_h;
  const int from_row = oh * stride_h - pad_top, from_column = first * kStride - pad_left;
  const int top = max(from_row, 0), bottom = min(from_row + kernel_h, in_h);
  // Beyond the border is what changes no result.
  const vec4 nothing = vec4(kAverage != 0 ? 0.0 : -Infinity());
  vec4 result[kStrip];
  for (int i = 0; i < kStrip; ++i) result[i] = nothing;
  for (int r = top; r < bottom; ++r) {
    vec4 v[kSpan];
    for (int i = 0; i < kSpan; ++i) {
      const int c = from_column + i;
      v[i] = c >= 0 && c < in_w ? Load(x[(plane * in_h + r) * in_w + c]) : nothing;
    }
    for (int k = 0; k < kKernel; ++k) {
      for (int i = 0; i < kStrip; ++i) {
        const vec4 value = v[i * kStride + k];
        result[i] = kAverage != 0 ? result[i] + value : Larger(result[i], value);
      }
    }
  }
  const int quads = (channels + 3) / 4;
  const bvec4 used = lessThan(ivec4(plane % quads * 4) + ivec4(0, 1, 2, 3), ivec4(channels));
  for (int i = 0; i < kStrip; ++i) {
    if (first + i >= out_w) break;
    vec4 value = result[i];
    if (kAverage != 0) {
      const int begin = from_column + i * kStride, end = begin + kKernel;
      int valid = (bottom - top) * (min(end, in_w) - max(begin, 0));
      // The padding counts as far as it goes: a window of ceil_mode may reach beyond it.
      if (kIncludePad != 0) {
        valid = (min(from_row + kernel_h, in_h + pad_bottom) - from_row) * (min(end, in_w + pad_right) - begin);
      }
      value = valid > 0 ? value / float(valid) : vec4(0.0);
    }
    y[row_id * out_w + first + i] = Store(mix(vec4(0.0), value, used));
  }
}
