// SPDX-License-Identifier: Apache-2.0
// Resizing of blobs with `block` lanes: one item per output element (plane, row, column, lane).
#include "common.clh"

// Weighted sums of taps: row taps index[o * taps + k] and weight[...], then column taps behind the rows' ones.
typedef struct {
  int in_h, in_w, out_h, out_w, taps;
} Resize;

LINEAR void upsample_taps(global stored* y, long y_at, global const stored* x, long x_at, global const int* index,
                     global const float* weight, int count, int block, Resize r) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int lane = i % block, at = i / block, column = at % r.out_w, row = at / r.out_w % r.out_h;
  global const stored* plane = x + x_at + (long)(at / r.out_w / r.out_h) * r.in_h * r.in_w * block + lane;
  float sum = 0.0f;
  for (int a = 0; a < r.taps; ++a) {
    const int h = row * r.taps + a;
    float line = 0.0f;
    for (int b = 0; b < r.taps; ++b) {
      const int w = (r.out_h + column) * r.taps + b;
      line += weight[w] * LOAD(plane, (index[h] * r.in_w + index[w]) * block);
    }
    sum += weight[h] * line;
  }
  STORE(sum, y + y_at, i);
}

#define NEAREST(size, T)                                                                                               \
  LINEAR void upsample_nearest_##size(global T* y, long y_at, global const T* x, long x_at, global const int* index,  \
                                      int count, int block, Resize r) {                                                \
    const int i = get_global_id(0);                                                                                    \
    if (i >= count) return;                                                                                            \
    const int lane = i % block, at = i / block, column = at % r.out_w, row = at / r.out_w % r.out_h;                   \
    const int plane = at / r.out_w / r.out_h;                                                                          \
    y[y_at + i] = x[x_at + ((plane * r.in_h + index[row]) * r.in_w + index[r.out_h + column]) * block + lane];        \
  }
NEAREST(1, uchar)
NEAREST(2, ushort)
NEAREST(4, uint)
NEAREST(8, ulong)
