#version 450
// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution in NC4HW4 through texel buffers: one invocation computes one pixel of four channels. Weights
// [quad][tap]; then bias, an addend (has_addend) and an activation. -DSWISH.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "math.glslh"
#include "activation.glslh"

layout(std430, binding = 0) writeonly buffer Y { S4 y[]; };
layout(binding = 1) uniform samplerBuffer x;
layout(binding = 2) uniform samplerBuffer addend;
layout(binding = 3) uniform samplerBuffer weight;
layout(binding = 4) uniform samplerBuffer bias;
layout(push_constant) uniform Params {
  uint count;
  int quads, channels;
  int in_h, in_w, out_h, out_w;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int has_addend;
  float slope, low, high;
};

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int ow = id % out_w, oh = id / out_w % out_h, plane = id / (out_w * out_h), quad = plane % quads;
  const int left = ow * stride_w - pad_left, top = oh * stride_h - pad_top;
  vec4 sum = vec4(0.0);
  for (int kh = 0; kh < kernel_h; ++kh) {
    const int row = top + kh * dilation_h;
    if (row < 0 || row >= in_h) continue;
    const int from = (plane * in_h + row) * in_w, w = (quad * kernel_h + kh) * kernel_w;
    for (int kw = 0; kw < kernel_w; ++kw) {
      const int column = left + kw * dilation_w;
      if (column >= 0 && column < in_w) sum = fma(texelFetch(x, from + column), texelFetch(weight, w + kw), sum);
    }
  }
  sum += texelFetch(bias, quad);
  if (has_addend != 0) sum += texelFetch(addend, id);
  y[id] = Store(KeepChannels(Activate4(sum, slope, low, high), quad, channels));
}
