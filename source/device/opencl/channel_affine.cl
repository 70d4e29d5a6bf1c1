// SPDX-License-Identifier: Apache-2.0
// Element-wise operators with coefficients per channel, and sums of two blobs, in either form.
#include "common.clh"

// y = activate(scale[c] x + shift[c]). The lanes behind the last channel have scale and shift 0.
LINEAR void channel_affine(global stored* y, long y_at, global const stored* x, long x_at, global const float* scale,
                           global const float* shift, int count, int blocks, int pixels, int block, Epilogue e) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int c = lane_channel(i, blocks, pixels, block);
  STORE(activate(fma(LOAD(x + x_at, i), scale[c], shift[c]), e), y + y_at, i);
}

LINEAR void add_same(global stored* y, long y_at, global const stored* a, long a_at, global const stored* b, long b_at,
                     int count, Epilogue e) {
  const int i = get_global_id(0);
  if (i >= count) return;
  STORE(activate(LOAD(a + a_at, i) + LOAD(b + b_at, i), e), y + y_at, i);
}

// Eight elements an item, for CPU drivers.
LINEAR void add_same_x8(global stored* y, long y_at, global const stored* a, long a_at, global const stored* b,
                        long b_at, int count, Epilogue e) {
  const int i = get_global_id(0) * 8;
  if (i >= count) return;
  STORE8(activate8(LOAD8(a + a_at, i) + LOAD8(b + b_at, i), e), y + y_at, i);
}
