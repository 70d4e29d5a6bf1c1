// SPDX-License-Identifier: Apache-2.0
// Convolutions in channel blocks for CPU drivers: an item computes TILE neighbouring pixels of 16 output channels in
// registers. Weights lie as [pair of output blocks][input block][kernel row][kernel column][input lane 8][output lane
// 16], so that one vector load serves TILE multiplications. 1x1 kernels of stride 1 come with the whole map as one row.
#include "common.clh"
#include "conv.clh"

#define TILE 7

// acc[t] += x[lane] * w over `lanes` input channels of one kernel position, for every pixel of the tile.
#ifdef PLUMB_F16
#define LANES(t, step) const float8 x##t = LOAD8(p, (t) * (step));
#define PICK(t, c) x##t.s##c
#define ALL_LANES(step)                                                                                        \
  LANES(0, step) LANES(1, step) LANES(2, step) LANES(3, step) LANES(4, step) LANES(5, step) LANES(6, step)     \
  STEP(0, PICK) STEP(1, PICK) STEP(2, PICK) STEP(3, PICK) STEP(4, PICK) STEP(5, PICK) STEP(6, PICK) STEP(7, PICK)
#define STEP(c, pick)                                                                                          \
  {                                                                                                            \
    const float16 k = vload16(c, w);                                                                           \
    a0 = fma(pick(0, c), k, a0);                                                                               \
    a1 = fma(pick(1, c), k, a1);                                                                               \
    a2 = fma(pick(2, c), k, a2);                                                                               \
    a3 = fma(pick(3, c), k, a3);                                                                               \
    a4 = fma(pick(4, c), k, a4);                                                                               \
    a5 = fma(pick(5, c), k, a5);                                                                               \
    a6 = fma(pick(6, c), k, a6);                                                                               \
  }
#endif

SINGLE void convolution_cpu(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                            long addend_at, global const float* weight, global const float* bias, int tiles, int pairs,
                            int flags, Conv c, Epilogue e) {
  const int tile = get_global_id(0) % tiles, row = get_global_id(0) / tiles, pair = get_global_id(1),
            n = get_global_id(2);
  if (row >= c.out_h || pair >= pairs || n >= c.batch) return;
  const int in_blocks = (c.in_channels / c.group + 7) / 8, out_blocks = (c.out_channels + 7) / 8;
  const int all_in_blocks = (c.in_channels + 7) / 8;
  const int first_block = pair * 16 / (c.out_channels / c.group) * in_blocks;
  const int column = tile * TILE, count = min(TILE, c.out_w - column);
  const int in_column = column * c.stride_w - c.pad_left;
  const float16 start = flags & 1 ? vload16(pair, bias) : (float16)(0.0f);
  float16 a0 = start, a1 = start, a2 = start, a3 = start, a4 = start, a5 = start, a6 = start;
  global const float* w = weight + (long)pair * in_blocks * c.kernel_h * c.kernel_w * 128;
  const int step = c.stride_w * 8;
  for (int block = 0; block < in_blocks; ++block) {
    global const stored* plane = x + x_at + (long)(n * all_in_blocks + first_block + block) * c.in_h * c.in_w * 8;
    const int lanes = min(8, c.in_channels / c.group - block * 8);
    for (int i = 0; i < c.kernel_h; ++i) {
      const int h = row * c.stride_h - c.pad_top + i * c.dilation_h;
      if (h < 0 || h >= c.in_h) {
        w += c.kernel_w * 128;
        continue;
      }
      for (int j = 0; j < c.kernel_w; ++j, w += 128) {
        const int from = in_column + j * c.dilation_w;
        global const stored* p = plane + (h * c.in_w + from) * 8;
        if (from >= 0 && from + (TILE - 1) * c.stride_w < c.in_w) {
#ifdef PLUMB_F16
          ALL_LANES(step)
#else
          for (int k = 0; k < lanes; ++k) {
            const float16 v = vload16(k, w);
            a0 = fma(p[k], v, a0);
            a1 = fma(p[step + k], v, a1);
            a2 = fma(p[2 * step + k], v, a2);
            a3 = fma(p[3 * step + k], v, a3);
            a4 = fma(p[4 * step + k], v, a4);
            a5 = fma(p[5 * step + k], v, a5);
            a6 = fma(p[6 * step + k], v, a6);
          }
#endif
          continue;
        }
        // The border: which of the tile's pixels lie inside is the same for all lanes.
#define INSIDE(t) (from + t * c.stride_w >= 0 && from + t * c.stride_w < c.in_w)
#define BORDER(t)                                                                  \
  if (INSIDE(t)) {                                                                 \
    for (int k = 0; k < lanes; ++k) a##t = fma(LOAD(p, t * step + k), vload16(k, w), a##t); \
  }
        BORDER(0) BORDER(1) BORDER(2) BORDER(3) BORDER(4) BORDER(5) BORDER(6)
      }
    }
  }
  const int plane = c.out_h * c.out_w * 8;
  const long at = ((long)(n * out_blocks + pair * 2) * c.out_h * c.out_w + row * c.out_w + column) * 8;
  const int blocks = out_blocks - pair * 2;
  global stored* to = y + y_at + at;
  global const stored* more = addend + addend_at + at;
#define STORE_PIXEL(t) \
  if (t < count) store_pair(to + t * 8, more + t * 8, a##t, blocks, plane, flags, e);
  STORE_PIXEL(0) STORE_PIXEL(1) STORE_PIXEL(2) STORE_PIXEL(3) STORE_PIXEL(4) STORE_PIXEL(5) STORE_PIXEL(6)
}

// One filter per channel: weights [block][kernel row][kernel column][8].
SINGLE void depthwise_cpu(global stored* y, long y_at, global const stored* x, long x_at, global const stored* addend,
                          long addend_at, global const float* weight, global const float* bias, int tiles, int pairs,
                          int flags, Conv c, Epilogue e) {
  const int tile = get_global_id(0) % tiles, row = get_global_id(0) / tiles, block = get_global_id(1),
            n = get_global_id(2);
  const int blocks = (c.out_channels + 7) / 8;
  if (row >= c.out_h || block >= blocks || n >= c.batch) return;
  const int column = tile * TILE, count = min(TILE, c.out_w - column), in_column = column * c.stride_w - c.pad_left;
  const float8 start = flags & 1 ? vload8(block, bias) : (float8)(0.0f);
  float8 a0 = start, a1 = start, a2 = start, a3 = start, a4 = start, a5 = start, a6 = start;
  global const float* w = weight + (long)block * c.kernel_h * c.kernel_w * 8;
  global const stored* plane = x + x_at + (long)(n * blocks + block) * c.in_h * c.in_w * 8;
  const int step = c.stride_w * 8;
  for (int i = 0; i < c.kernel_h; ++i) {
    const int h = row * c.stride_h - c.pad_top + i * c.dilation_h;
    if (h < 0 || h >= c.in_h) continue;
    for (int j = 0; j < c.kernel_w; ++j) {
      const int from = in_column + j * c.dilation_w;
      global const stored* p = plane + (h * c.in_w + from) * 8;
      const float8 v = vload8(i * c.kernel_w + j, w);
#define TAP(t) \
  if (INSIDE(t)) a##t = fma(LOAD8(p, t * step), v, a##t);
      TAP(0) TAP(1) TAP(2) TAP(3) TAP(4) TAP(5) TAP(6)
    }
  }
  const long at = ((long)(n * blocks + block) * c.out_h * c.out_w + row * c.out_w + column) * 8;
  global stored* to = y + y_at + at;
  global const stored* more = addend + addend_at + at;
#define STORE_CHANNELS(t)                                        \
  if (t < count) {                                               \
    if (flags & 2) a##t += LOAD8(more, t * 8);                   \
    STORE8(activate8(a##t, e), to, t * 8);                       \
  }
  STORE_CHANNELS(0) STORE_CHANNELS(1) STORE_CHANNELS(2) STORE_CHANNELS(3)
  STORE_CHANNELS(4) STORE_CHANNELS(5) STORE_CHANNELS(6)
}
