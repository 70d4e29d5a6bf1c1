// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 and stride 1 by Winograd's algorithm F(4x4,3x3) for CPU drivers. Tiles of 4 x 4 outputs, numbered
// through rows and batch, are computed TILES at a time. First their 6 x 6 inputs are transformed, to
//   [unit of TILES tiles][position 6 x 6][input block][tile][8];
// then an item sums one unit's products for 16 output channels at all 36 positions and transforms them back, so that
// sums never leave its own memory. Weights: [pair of output blocks][position][input block][input lane 8][output lane
// 16].
#include "common.clh"
#include "conv.clh"
#include "winograd.inc"

#define TILES 6
#define POSITIONS 36

// Image and upper left output pixel of a tile; those behind the last tile repeat it.
inline void place(int tile, Conv c, int* n, int* row, int* column) {
  const int across = (c.out_w + 3) / 4, per_image = across * ((c.out_h + 3) / 4);
  const int t = min(tile, c.batch * per_image - 1);
  *n = t / per_image;
  *row = t % per_image / across * 4;
  *column = t % across * 4;
}

SINGLE void winograd_input(global float* v, long v_at, global const stored* x, long x_at, int units, int blocks,
                           Conv c) {
  const int block = get_global_id(0), unit = get_global_id(1);
  if (block >= blocks || unit >= units) return;
  for (int t = 0; t < TILES; ++t) {
    int n, row, column;
    place(unit * TILES + t, c, &n, &row, &column);
    global const stored* plane = x + x_at + (long)(n * blocks + block) * c.in_h * c.in_w * 8;
    const int top = row - c.pad_top, left = column - c.pad_left;
    float8 d[POSITIONS];
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 6; ++j) {
        const int h = top + i, w = left + j;
        d[i * 6 + j] =
            h >= 0 && h < c.in_h && w >= 0 && w < c.in_w ? LOAD8(plane, (h * c.in_w + w) * 8) : (float8)(0.0f);
      }
    }
    for (int j = 0; j < 6; ++j) WINOGRAD4_INPUT(float8, d, j, 6)
    for (int i = 0; i < 6; ++i) WINOGRAD4_INPUT(float8, d, i * 6, 1)
    global float* to = v + v_at + (((long)unit * POSITIONS * blocks + block) * TILES + t) * 8;
    for (int p = 0; p < POSITIONS; ++p) vstore8(d[p], 0, to + p * blocks * TILES * 8);
  }
}

SINGLE void winograd_output(global stored* y, long y_at, global const float* v, long v_at, global const stored* addend,
                            long addend_at, global const float* weight, global const float* bias, int units, int blocks,
                            int pairs, int flags, Conv c, Epilogue e) {
  const int unit = get_global_id(0), pair = get_global_id(1);
  if (unit >= units || pair >= pairs) return;
  float16 sums[POSITIONS * TILES];
  global const float* x = v + v_at + (long)unit * POSITIONS * blocks * TILES * 8;
  global const float* w = weight + (long)pair * POSITIONS * blocks * 128;
  for (int p = 0; p < POSITIONS; ++p) {
    float16 a0 = 0.0f, a1 = 0.0f, a2 = 0.0f, a3 = 0.0f, a4 = 0.0f, a5 = 0.0f;
    for (int block = 0; block < blocks; ++block, x += TILES * 8, w += 128) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float16 u = vload16(k, w);
        a0 = fma(x[k], u, a0);
        a1 = fma(x[8 + k], u, a1);
        a2 = fma(x[16 + k], u, a2);
        a3 = fma(x[24 + k], u, a3);
        a4 = fma(x[32 + k], u, a4);
        a5 = fma(x[40 + k], u, a5);
      }
    }
    sums[p * TILES] = a0;
    sums[p * TILES + 1] = a1;
    sums[p * TILES + 2] = a2;
    sums[p * TILES + 3] = a3;
    sums[p * TILES + 4] = a4;
    sums[p * TILES + 5] = a5;
  }
  const float16 start = flags & 1 ? vload16(pair, bias) : (float16)(0.0f);
  const int out_blocks = (c.out_channels + 7) / 8, plane = c.out_h * c.out_w * 8,
            per_image = (c.out_w + 3) / 4 * ((c.out_h + 3) / 4);
  for (int t = 0; t < min(TILES, c.batch * per_image - unit * TILES); ++t) {
    int n, row, column;
    place(unit * TILES + t, c, &n, &row, &column);
    for (int j = 0; j < 6; ++j) WINOGRAD4_OUTPUT(float16, sums, j * TILES + t, 6 * TILES)
    for (int i = 0; i < 4; ++i) WINOGRAD4_OUTPUT(float16, sums, i * 6 * TILES + t, TILES)
    const long at = ((long)(n * out_blocks + pair * 2) * c.out_h * c.out_w + row * c.out_w + column) * 8;
    for (int i = 0; i < min(4, c.out_h - row); ++i) {
      for (int j = 0; j < min(4, c.out_w - column); ++j) {
        const long pixel = at + (i * c.out_w + j) * 8;
        store_pair(y + y_at + pixel, addend + addend_at + pixel, sums[(i * 6 + j) * TILES + t] + start,
                   out_blocks - pair * 2, plane, flags, e);
      }
    }
  }
}
