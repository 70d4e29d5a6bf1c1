#version 450
// SPDX-License-Identifier: Apache-2.0
// Convolution of any kind in plain NCHW, one invocation per output; kTransposed 1: deconvolution. The sum is followed
// by bias, an addend of the output's shape (kAddend 1) and an activation. Weights [out][in/group][kh][kw], or
// [group][in/group][out/group][kh][kw] when transposed. A launch adds the input channels [first_in, last_in) of a group
// to what launches before it left in y (loop_rounds.h).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "math.glslh"
#include "activation.glslh"

layout(constant_id = 0) const int kTransposed = 0;
layout(constant_id = 1) const int kAddend = 0;
layout(constant_id = 2) const int kActivation = 0;
layout(std430, binding = 0) buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) readonly buffer Addend { float addend[]; };
layout(std430, binding = 3) readonly buffer Weight { float weight[]; };
layout(std430, binding = 4) readonly buffer Bias { float bias[]; };
layout(push_constant) uniform Params {
  uint count;
  int groups, in_per_group, out_per_group;
  int in_h, in_w, out_h, out_w;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  float low, high;
  int first_in, last_in;
};

// The input position that tap k of output position o reads, or -1.
int Position(int o, int k, int stride, int dilation, int pad, int size) {
  int p;
  if (kTransposed != 0) {
    p = o + pad - k * dilation;
    if (p < 0 || p % stride != 0) return -1;
    p /= stride;
  } else {
    p = o * stride - pad + k * dilation;
  }
  return p >= 0 && p < size ? p : -1;
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const int w = int(i) % out_w, h = int(i) / out_w % out_h;
  const int channels = groups * out_per_group;
  const int c = int(i) / (out_w * out_h) % channels, n = int(i) / (out_w * out_h * channels);
  const int group = c / out_per_group;
  const int taps = kernel_h * kernel_w;
  const int in_step = kTransposed != 0 ? out_per_group * taps : taps;
  const int first =
      kTransposed != 0 ? (group * in_per_group * out_per_group + c % out_per_group) * taps : c * in_per_group * taps;
  precise float sum = first_in > 0 ? y[i] : 0.0, lost = 0.0;
  for (int k = 0; k < taps; ++k) {
    const int ph = Position(h, k / kernel_w, stride_h, dilation_h, pad_top, in_h);
    const int pw = Position(w, k % kernel_w, stride_w, dilation_w, pad_left, in_w);
    if (ph < 0 || pw < 0) continue;
    const int from = (n * groups + group) * in_per_group * in_h * in_w + ph * in_w + pw;
    for (int q = first_in; q < last_in; ++q) {  // compensated (Kahan)
      precise float term = weight[first + q * in_step + k] * x[from + q * in_h * in_w] - lost;
      precise float next = sum + term;
      lost = IsFinite(next) ? (next - sum) - term : 0.0;
      sum = next;
    }
  }
  if (last_in < in_per_group) {
    y[i] = sum;
    return;
  }
  precise float result = sum + bias[c];
  if (kAddend != 0) result += addend[i];
  y[i] = Activate(kActivation, result, low, high);
}
