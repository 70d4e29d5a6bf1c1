#version 450
// SPDX-License-Identifier: Apache-2.0
// Convolution for drivers that run on a CPU, in NC4HW4: one invocation computes PIXELS neighbouring pixels of eight
// output channels in registers, and reads through texel buffers, which lavapipe does some 30 times faster than storage
// buffers. Weights [block of 8 out][tap][in quad][4 in][2 quads of out]. The sum is followed by bias, an addend of the
// output's shape (has_addend) and an activation. -DPIXELS=8 or 1 (few pixels: inner
// products), -DSWISH.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "math.glslh"
#include "activation.glslh"

#if PIXELS == 8
#define EACH(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#else
#define EACH(M) M(0)
#endif

layout(constant_id = 0) const int kPadded = 0;  // 1: some taps lie outside the input
layout(std430, binding = 0) writeonly buffer Y { S4 y[]; };
layout(binding = 1) uniform samplerBuffer x;
layout(binding = 2) uniform samplerBuffer addend;
layout(binding = 3) uniform samplerBuffer weight;
layout(binding = 4) uniform samplerBuffer bias;
layout(push_constant) uniform Params {
  uint count;  // invocations: pixel blocks of all images, then blocks of eight output channels
  int image_blocks, blocks;
  int in_quads, group_quads, out_quads, group_blocks, channels;  // of all groups, of one; likewise behind
  int in_h, in_w, out_h, out_w;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int has_addend;
  float slope, low, high;
};

vec4 Finish(vec4 v, int quad, int at) {
  v += texelFetch(bias, quad);
  if (has_addend != 0) v += texelFetch(addend, at);
  return KeepChannels(Activate4(v, slope, low, high), quad, channels);
}

void main() {
  const int id = int(LinearId());
  if (id >= int(count)) return;
  const int block = id % blocks, out_block = id / blocks;
  const int n = block / image_blocks, first = block % image_blocks * PIXELS;
  const int group = out_block / group_blocks, pixels = out_h * out_w, in_pixels = in_h * in_w;
  const int image = (n * in_quads + group * group_quads) * in_pixels;
  ivec2 origin[PIXELS];
#define ORIGIN(i)                                                       \
  {                                                                     \
    const int p = min(first + i, pixels - 1);                           \
    origin[i] = ivec2(p % out_w * stride_w - pad_left, p / out_w * stride_h - pad_top); \
  }
  EACH(ORIGIN)
  vec4 a[PIXELS], b[PIXELS];
#define ZERO(i) a[i] = b[i] = vec4(0.0);
  EACH(ZERO)
  int w = out_block * kernel_h * kernel_w * group_quads * 8;
  for (int kh = 0; kh < kernel_h; ++kh) {
    for (int kw = 0; kw < kernel_w; ++kw) {
      int from[PIXELS];
      bool inside[PIXELS];
#define PLACE(i)                                                                                      \
  {                                                                                                   \
    const ivec2 at = origin[i] + ivec2(kw * dilation_w, kh * dilation_h);                             \
    inside[i] = kPadded == 0 || (at.x >= 0 && at.x < in_w && at.y >= 0 && at.y < in_h);               \
    from[i] = inside[i] ? image + at.y * in_w + at.x : image;                                         \
  }
      EACH(PLACE)
      for (int q = 0; q < group_quads; ++q) {
        const int step = q * in_pixels;
        vec4 v[PIXELS];
#define READ(i)                             \
  v[i] = texelFetch(x, from[i] + step);     \
  if (kPadded != 0) v[i] = mix(vec4(0.0), v[i], bvec4(inside[i]));
        EACH(READ)
        const vec4 w0 = texelFetch(weight, w), w1 = texelFetch(weight, w + 1);
        const vec4 w2 = texelFetch(weight, w + 2), w3 = texelFetch(weight, w + 3);
        const vec4 w4 = texelFetch(weight, w + 4), w5 = texelFetch(weight, w + 5);
        const vec4 w6 = texelFetch(weight, w + 6), w7 = texelFetch(weight, w + 7);
        w += 8;
#define ADD(i)                  \
  a[i] = fma(v[i].xxxx, w0, a[i]);  \
  a[i] = fma(v[i].yyyy, w2, a[i]);  \
  a[i] = fma(v[i].zzzz, w4, a[i]);  \
  a[i] = fma(v[i].wwww, w6, a[i]);  \
  b[i] = fma(v[i].xxxx, w1, b[i]);  \
  b[i] = fma(v[i].yyyy, w3, b[i]);  \
  b[i] = fma(v[i].zzzz, w5, b[i]);  \
  b[i] = fma(v[i].wwww, w7, b[i]);
        EACH(ADD)
      }
    }
  }
  const int quad = out_block * 2;
  const int to = (n * out_quads + quad) * pixels + first;
#define STORE(i)                                                        \
  if (first + i < pixels) {                                             \
    y[to + i] = Store(Finish(a[i], quad, to + i));                             \
    if (quad + 1 < out_quads) y[to + pixels + i] = Store(Finish(b[i], quad + 1, to + pixels + i)); \
  }
  EACH(STORE)
}
