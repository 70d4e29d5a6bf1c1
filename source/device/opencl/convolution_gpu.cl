// SPDX-License-Identifier: Apache-2.0
// Convolutions in channel blocks for GPUs. Dense: a group of 64 items computes 128 pixels of 16 output channels from
// tiles of 16 input channels in local memory, an item 8 pixels of four channels. Depthwise: strips of rows in
// registers.
#include "common.clh"
#include "conv.clh"

#define PIXELS 128  // of a group
#define ROWS 4

#define EACH_ROW for (int t = 0; t < ROWS; ++t)

// Weights [pair of output blocks][input block][kernel row][kernel column][input lane 8][output lane 16].
LINEAR void convolution_gpu(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                            long addend_at, global const float* weight, global const float* bias, int tiles,
                            int columns, int flags, Conv c, Epilogue e) {
  local float4 data[4][PIXELS];  // four channels of the step, pixel
  local float4 filter[16][4];    // channel of the step, four output channels
  const int id = get_local_id(0), lane = id & 15, quad = id >> 4;
  const int first = get_group_id(0) * PIXELS, pair = get_group_id(1), n = get_group_id(2);
  const int in_blocks = (c.in_channels / c.group + 7) / 8, all_in_blocks = (c.in_channels + 7) / 8;
  const int first_block = pair * 16 / (c.out_channels / c.group) * in_blocks;
  const int pixels = c.out_h * c.out_w, in_pixels = c.in_h * c.in_w, taps = c.kernel_h * c.kernel_w;
  global const stored* planes = x + x_at + (long)(n * all_in_blocks + first_block) * in_pixels * 8;
  global const float* w = weight + (long)pair * in_blocks * taps * 128;
  int row[2], column[2];  // of the pixels that this item loads
  for (int t = 0; t < 2; ++t) {
    const int p = min(first + id + t * 64, pixels - 1);
    row[t] = p / c.out_w * c.stride_h - c.pad_top;
    column[t] = p % c.out_w * c.stride_w - c.pad_left;
  }
  float4 acc[8];
  for (int i = 0; i < 8; ++i) acc[i] = flags & 1 ? vload4(pair * 4 + quad, bias) : (float4)(0.0f);
  for (int k = 0; k < taps; ++k) {
    for (int block = 0; block < in_blocks; block += 2) {
      for (int t = 0; t < 2; ++t) {
        const int h = row[t] + k / c.kernel_w * c.dilation_h, at = column[t] + k % c.kernel_w * c.dilation_w;
        const int inside = h >= 0 && h < c.in_h && at >= 0 && at < c.in_w;
        for (int b = 0; b < 2; ++b) {
          float8 v = 0.0f;
          if (inside && block + b < in_blocks) v = LOAD8(planes, ((block + b) * in_pixels + h * c.in_w + at) * 8);
          data[2 * b][id + t * 64] = v.lo;
          data[2 * b + 1][id + t * 64] = v.hi;
        }
      }
      const int from = block + id / 32;  // this item's four weights: of channel id / 4 of the step
      filter[id / 4][id % 4] =
          from < in_blocks ? vload4(((from * taps + k) * 8 + id / 4 % 8) * 4 + id % 4, w) : (float4)(0.0f);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int q = 0; q < 4; ++q) {
        const float4 w0 = filter[4 * q][quad], w1 = filter[4 * q + 1][quad];
        const float4 w2 = filter[4 * q + 2][quad], w3 = filter[4 * q + 3][quad];
        for (int i = 0; i < 8; ++i) {
          const float4 v = data[q][lane + 16 * i];
          acc[i] = fma(v.s0, w0, fma(v.s1, w1, fma(v.s2, w2, fma(v.s3, w3, acc[i]))));
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  const int out_blocks = (c.out_channels + 7) / 8, out_block = pair * 2 + quad / 2;
  if (out_block >= out_blocks) return;
  for (int i = 0; i < 8; ++i) {
    const int p = first + lane + 16 * i;
    if (p >= pixels) return;
    const long at = ((long)(n * out_blocks + out_block) * pixels + p) * 8 + quad % 2 * 4;
    float4 sum = acc[i];
    if (flags & 2) sum += LOAD4(addend + addend_at, at);
    STORE4(activate4(sum, e), y + y_at, at);
  }
}

// One filter per channel: an item computes ROWS neighbouring rows of one column of eight channels and loads each pixel
// once for all of them; neighbouring items compute neighbouring columns. Weights [block][kernel row][kernel column][8];
// `tiles` strips of rows.
LINEAR void depthwise_gpu(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                          long addend_at, global const float* weight, global const float* bias, int tiles, int columns,
                          int flags, Conv c, Epilogue e) {
  const int item = get_global_id(0), block = get_global_id(1), n = get_global_id(2);
  if (item >= tiles * c.out_w || block >= columns || n >= c.batch) return;
  const int column = item % c.out_w, row = item / c.out_w * ROWS, count = min(ROWS, c.out_h - row);
  const int left = column * c.stride_w - c.pad_left, top = row * c.stride_h - c.pad_top;
  const int last = top + (count - 1) * c.stride_h + (c.kernel_h - 1) * c.dilation_h;
  const float8 start = flags & 1 ? vload8(block, bias) : (float8)(0.0f);
  float8 acc[ROWS];
  EACH_ROW acc[t] = start;
  global const float* w = weight + (long)block * c.kernel_h * c.kernel_w * 8;
  global const stored* plane = x + x_at + (long)(n * columns + block) * c.in_h * c.in_w * 8;
  for (int h = max(top, 0); h <= min(last, c.in_h - 1); ++h) {
    int tap[ROWS], used = 0;  // the first weight of the kernel row that meets input row h, or -1
    EACH_ROW {
      const int below = h - top - t * c.stride_h, i = below / c.dilation_h;
      const int meets = below >= 0 && i < c.kernel_h && i * c.dilation_h == below;
      tap[t] = meets ? i * c.kernel_w : -1;
      used |= meets;
    }
    if (!used) continue;
    for (int j = 0; j < c.kernel_w; ++j) {
      const int at = left + j * c.dilation_w;
      if (at < 0 || at >= c.in_w) continue;
      const float8 v = LOAD8(plane, (h * c.in_w + at) * 8);
      EACH_ROW {
        if (tap[t] >= 0) acc[t] = fma(v, vload8(tap[t] + j, w), acc[t]);
      }
    }
  }
  const long first = ((long)(n * columns + block) * c.out_h + row) * c.out_w + column;
  EACH_ROW {
    if (t >= count) break;
    const long at = (first + t * c.out_w) * 8;
    float8 sum = acc[t];
    if (flags & 2) sum += LOAD8(addend + addend_at, at);
    STORE8(activate8(sum, e), y + y_at, at);
  }
}
