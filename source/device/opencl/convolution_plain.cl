// SPDX-License-Identifier: Apache-2.0
// Convolution and deconvolution in plain order, for every shape: one item per output.
#include "common.clh"
#include "conv.clh"

LINEAR void convolution_plain(global stored* y, long y_at, global const stored* x, long x_at,
                              global const stored* addend, long addend_at, global const float* weight,
                              global const float* bias, int flags, Conv c, Epilogue e) {
  const int i = get_global_id(0), pixels = c.out_h * c.out_w;
  if (i >= c.batch * c.out_channels * pixels) return;
  const int column = i % c.out_w, row = i / c.out_w % c.out_h, o = i / pixels % c.out_channels,
            n = i / pixels / c.out_channels;
  const int in = c.in_channels / c.group, first = o / (c.out_channels / c.group) * in;
  float sum = 0.0f;
  for (int k = 0; k < in; ++k) {
    global const stored* plane = x + x_at + (n * c.in_channels + first + k) * c.in_h * c.in_w;
    global const float* w = weight + (o * in + k) * c.kernel_h * c.kernel_w;
    float channel = 0.0f;
    for (int a = 0; a < c.kernel_h; ++a) {
      const int h = row * c.stride_h - c.pad_top + a * c.dilation_h;
      if (h < 0 || h >= c.in_h) continue;
      for (int b = 0; b < c.kernel_w; ++b) {
        const int at = column * c.stride_w - c.pad_left + b * c.dilation_w;
        if (at < 0 || at >= c.in_w) continue;
        channel = fma(w[a * c.kernel_w + b], LOAD(plane, h * c.in_w + at), channel);
      }
    }
    sum += channel;
  }
  STORE(finish(sum, o, i, bias, addend + addend_at, flags, e), y + y_at, i);
}

// The input pixels that reach an output pixel: row * stride - pad + k * dilation = output. Weights
// [group][in][out][kh][kw].
LINEAR void deconvolution_plain(global stored* y, long y_at, global const stored* x, long x_at,
                                global const stored* addend, long addend_at, global const float* weight,
                                global const float* bias, int flags, Conv c, Epilogue e) {
  const int i = get_global_id(0), pixels = c.out_h * c.out_w;
  if (i >= c.batch * c.out_channels * pixels) return;
  const int column = i % c.out_w, row = i / c.out_w % c.out_h, o = i / pixels % c.out_channels,
            n = i / pixels / c.out_channels;
  const int in = c.in_channels / c.group, out = c.out_channels / c.group, g = o / out;
  float sum = 0.0f;
  for (int k = 0; k < in; ++k) {
    global const stored* plane = x + x_at + (n * c.in_channels + g * in + k) * c.in_h * c.in_w;
    global const float* w = weight + ((g * in + k) * out + o % out) * c.kernel_h * c.kernel_w;
    float channel = 0.0f;
    for (int a = 0; a < c.kernel_h; ++a) {
      const int h = row + c.pad_top - a * c.dilation_h;
      if (h < 0 || h % c.stride_h != 0 || h / c.stride_h >= c.in_h) continue;
      for (int b = 0; b < c.kernel_w; ++b) {
        const int at = column + c.pad_left - b * c.dilation_w;
        if (at < 0 || at % c.stride_w != 0 || at / c.stride_w >= c.in_w) continue;
        channel = fma(w[a * c.kernel_w + b], LOAD(plane, h / c.stride_h * c.in_w + at / c.stride_w), channel);
      }
    }
    sum += channel;
  }
  STORE(finish(sum, o, i, bias, addend + addend_at, flags, e), y + y_at, i);
}
