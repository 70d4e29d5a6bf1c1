// Sums of products in plain order, for every shape: one item per output, or a group of items. The faster kernels are in files of their own.
#include "common.clh"
#include "conv.clh"

// flags: 1 bias, 2 addend
inline float finish(float sum, int o, int i, global const float* bias, global const stored* addend, int flags, Epilogue e) {
  if (flags & 1) sum += bias[o];
  if (flags & 2) sum += LOAD(addend, i);
  return activate(sum, e);
}

LINEAR void convolution_plain(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                              long addend_at, global const float* weight, global const float* bias, int flags, Conv c,
                              Epilogue e) {
  const int i = get_global_id(0), pixels = c.out_h * c.out_w;
  if (i >= c.batch * c.out_channels * pixels) return;
  const int column = i % c.out_w, row = i / c.out_w % c.out_h, o = i / pixels % c.out_channels, n = i / pixels / c.out_channels;
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

// The input pixels that reach an output pixel: row * stride - pad + k * dilation = output. Weights [group][in][out][kh][kw].
LINEAR void deconvolution_plain(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                                long addend_at, global const float* weight, global const float* bias, int flags, Conv c,
                                Epilogue e) {
  const int i = get_global_id(0), pixels = c.out_h * c.out_w;
  if (i >= c.batch * c.out_channels * pixels) return;
  const int column = i % c.out_w, row = i / c.out_w % c.out_h, o = i / pixels % c.out_channels, n = i / pixels / c.out_channels;
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

// y[r][o] = sum over k of weight[o][k] x[r][k].
LINEAR void inner_product(global stored* y, long y_at, global const stored* x, long x_at, global const float* weight,
                          global const float* bias, int rows, int k, int outputs, int flags, Epilogue e) {
  const int i = get_global_id(0);
  if (i >= rows * outputs) return;
  const int o = i % outputs;
  global const stored* row = x + x_at + (long)(i / outputs) * k;
  global const float* w = weight + (long)o * k;
  float8 sums = 0.0f;
  int j = 0;
  for (; j + 8 <= k; j += 8) sums = fma(vload8(0, w + j), LOAD8(row, j), sums);
  float sum = 0.0f;
  for (; j < k; ++j) sum = fma(w[j], LOAD(row, j), sum);
  const float4 four = sums.lo + sums.hi;
  const float2 two = four.lo + four.hi;
  sum += two.x + two.y;
  STORE(finish(sum, o, i, bias, row, flags, e), y + y_at, i);
}

// The same for GPUs: a group of 64 items per output, whose neighbours read neighbouring weights; their sums meet in a tree.
LINEAR void inner_product_gpu(global stored* y, long y_at, global const stored* x, long x_at, global const float* weight,
                              global const float* bias, int rows, int k, int outputs, int flags, Epilogue e) {
  local float part[64];
  const int id = get_local_id(0), i = get_group_id(0), o = i % outputs;
  global const stored* row = x + x_at + (long)(i / outputs) * k;
  global const float* w = weight + (long)o * k;
  float sum = 0.0f;
  for (int j = id; j < k; j += 64) sum = fma(w[j], LOAD(row, j), sum);
  part[id] = sum;
  for (int half_size = 32; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_size) part[id] += part[id + half_size];
  }
  if (id == 0) STORE(finish(part[0], o, i, bias, row, flags, e), y + y_at, i);
}
