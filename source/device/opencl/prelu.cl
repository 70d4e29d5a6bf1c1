// SPDX-License-Identifier: Apache-2.0
// PReLU in either form.
#include "common.clh"

LINEAR void prelu(global stored* y, long y_at, global const stored* x, long x_at, global const float* slope, int count,
                  int blocks, int pixels, int block) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const float v = LOAD(x + x_at, i);
  STORE(v < 0.0f ? v * slope[lane_channel(i, blocks, pixels, block)] : v, y + y_at, i);
}
