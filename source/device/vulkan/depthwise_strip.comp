#version 450
// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution for GPUs, in NC4HW4: one invocation computes kStrip pixels of a row of four channels, from
// inputs that it reads once per row into registers. Weights as in depthwise_texel.comp; then bias, an addend
// (has_addend) and an activation. -DSWISH.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "math.glslh"
#include "activation.glslh"

// What indexes registers is constant, so that loops over it unroll.
layout(constant_id = 0) const int kKernel = 3;
layout(constant_id = 1) const int kStride = 1;
layout(constant_id = 2) const int kDilation = 1;
const int kStrip = 4;
const int kSpan = (kStrip - 1) * kStride + (kKernel - 1) * kDilation + 1;

layout(std430, binding = 0) writeonly buffer Y { S4 y[]; };
layout(std430, binding = 1) readonly buffer X { S4 x[]; };
layout(std430, binding = 2) readonly buffer Addend { S4 addend[]; };
layout(std430, binding = 3) readonly buffer Weight { vec4 weight[]; };
layout(std430, binding = 4) readonly buffer Bias { vec4 bias[]; };
layout(push_constant) uniform Params {
  uint count;
  int quads, channels;
  int in_h, in_w, out_h, out_w;
  int kernel_h, stride_h, dilation_h, pad_top, pad_left;
  int has_addend;
  float slope, low, high;
};

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int strips = (out_w + kStrip - 1) / kStrip;
  const int first = id % strips * kStrip, row_id = id / strips, oh = row_id % out_h;
  const int plane = row_id / out_h, quad = plane % quads;
  const int left = first * kStride - pad_left, top = oh * stride_h - pad_top;
  vec4 sum[kStrip];
  for (int i = 0; i < kStrip; ++i) sum[i] = vec4(0.0);
  for (int kh = 0; kh < kernel_h; ++kh) {
    const int row = top + kh * dilation_h;
    if (row < 0 || row >= in_h) continue;
    const int from = (plane * in_h + row) * in_w, w = (quad * kernel_h + kh) * kKernel;
    vec4 v[kSpan];
    for (int i = 0; i < kSpan; ++i) {
      const int column = left + i;
      v[i] = column >= 0 && column < in_w ? Load(x[from + column]) : vec4(0.0);
    }
    for (int kw = 0; kw < kKernel; ++kw) {
      const vec4 tap = weight[w + kw];
      for (int i = 0; i < kStrip; ++i) sum[i] = fma(v[i * kStride + kw * kDilation], tap, sum[i]);
    }
  }
  for (int i = 0; i < kStrip; ++i) {
    if (first + i >= out_w) break;
    const int to = row_id * out_w + first + i;
    vec4 value = sum[i] + bias[quad];
    if (has_addend != 0) value += Load(addend[to]);
    y[to] = Store(KeepChannels(Activate4(value, slope, low, high), quad, channels));
  }
}
