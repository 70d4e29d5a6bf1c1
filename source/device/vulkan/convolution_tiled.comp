#version 450
// SPDX-License-Identifier: Apache-2.0
// Convolution for GPUs, in NC4HW4: a workgroup computes 64 pixels of 32 output channels from tiles of 16 input channels
// in shared memory, an invocation 8 pixels of four channels. Weights as in convolution_texel.comp. The sum is followed
// by bias, an addend of the output's shape (has_addend) and an activation. -DSWISH.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "half.glslh"
#include "math.glslh"
#include "activation.glslh"

layout(std430, binding = 0) writeonly buffer Y { S4 y[]; };
layout(std430, binding = 1) readonly buffer X { S4 x[]; };
layout(std430, binding = 2) readonly buffer Addend { S4 addend[]; };
layout(std430, binding = 3) readonly buffer Weight { vec4 weight[]; };
layout(std430, binding = 4) readonly buffer Bias { vec4 bias[]; };
layout(push_constant) uniform Params {
  int image_tiles;
  int in_quads, out_quads, channels;  // of a group, as many as there are workgroups in z
  int in_h, in_w, out_h, out_w;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int has_addend;
  float slope, low, high;
};

shared vec4 data[4][64];   // quad of the step, pixel
shared vec4 taps[16][8];   // channel of the step, quad of the output

void main() {
  const int id = int(gl_LocalInvocationIndex), column = id & 7, out_lane = id >> 3;
  const int n = int(gl_WorkGroupID.x) / image_tiles, first = int(gl_WorkGroupID.x) % image_tiles * 64;
  const int first_quad = int(gl_WorkGroupID.y) * 8;
  const int group = int(gl_WorkGroupID.z), image = n * int(gl_NumWorkGroups.z) + group;
  const int first_block = group * ((out_quads + 1) / 2);
  const int pixels = out_h * out_w, in_pixels = in_h * in_w, kernel = kernel_h * kernel_w;
  const int mine = min(first + id, pixels - 1);
  const ivec2 origin = ivec2(mine % out_w * stride_w - pad_left, mine / out_w * stride_h - pad_top);
  vec4 sum[8];
  for (int i = 0; i < 8; ++i) sum[i] = vec4(0.0);
  for (int k = 0; k < kernel; ++k) {
    const ivec2 at = origin + ivec2(k % kernel_w * dilation_w, k / kernel_w * dilation_h);
    const bool inside = at.x >= 0 && at.x < in_w && at.y >= 0 && at.y < in_h;
    const int from = inside ? image * in_quads * in_pixels + at.y * in_w + at.x : 0;
    for (int step = 0; step < in_quads; step += 4) {
      for (int j = 0; j < 4; ++j) {
        data[j][id] = inside && step + j < in_quads ? Load(x[from + (step + j) * in_pixels]) : vec4(0.0);
      }
      for (int e = id; e < 128; e += 64) {
        const int quad = step + (e >> 5), out_quad = first_quad + (e & 7);
        const int row = (first_block + out_quad / 2) * kernel + k;
        const int w = (row * in_quads + quad) * 8 + (e >> 3 & 3) * 2 + (out_quad & 1);
        taps[e >> 3][e & 7] = quad < in_quads && out_quad < out_quads ? weight[w] : vec4(0.0);
      }
      barrier();
      for (int j = 0; j < 4; ++j) {
        const vec4 w0 = taps[j * 4][out_lane], w1 = taps[j * 4 + 1][out_lane];
        const vec4 w2 = taps[j * 4 + 2][out_lane], w3 = taps[j * 4 + 3][out_lane];
        for (int i = 0; i < 8; ++i) {
          const vec4 v = data[j][column + 8 * i];
          sum[i] = fma(v.xxxx, w0, sum[i]);
          sum[i] = fma(v.yyyy, w1, sum[i]);
          sum[i] = fma(v.zzzz, w2, sum[i]);
          sum[i] = fma(v.wwww, w3, sum[i]);
        }
      }
      barrier();
    }
  }
  const int quad = first_quad + out_lane;
  if (quad >= out_quads) return;
  for (int i = 0; i < 8; ++i) {
    const int p = first + column + 8 * i;
    if (p >= pixels) continue;
    const int to = (image * out_quads + quad) * pixels + p;
    vec4 v = sum[i] + bias[group * out_quads + quad];
    if (has_addend != 0) v += Load(addend[to]);
    y[to] = Store(KeepChannels(Activate4(v, slope, low, high), quad, channels));
  }
}
