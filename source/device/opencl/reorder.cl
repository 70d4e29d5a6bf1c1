// SPDX-License-Identifier: Apache-2.0
// Conversions between the forms of a blob (blocked_layout.h): one item per stored element of the destination; lanes
// behind the last channel become zero.
#include "common.clh"

#define F32_LOAD(p, i) (p)[i]
#define F32_STORE(v, p, i) (p)[i] = (v)
#define F16_LOAD(p, i) vload_half(0, (p) + (i))
#define F16_STORE(v, p, i) vstore_half_rte(v, 0, (p) + (i))

#define REORDER(name, To, to_store, From, from_load)                                                                 \
  LINEAR void reorder_##name(global To* y, long y_at, global const From* x, long x_at, int batch, int channels,      \
                             int pixels, int y_block, int x_block) {                                                 \
    const int i = get_global_id(0);                                                                                  \
    const int blocks = (channels + y_block - 1) / y_block;                                                           \
    if (i >= batch * blocks * pixels * y_block) return;                                                              \
    const int p = i / y_block % pixels, plane = i / y_block / pixels;                                                \
    const int c = plane % blocks * y_block + i % y_block;                                                            \
    float v = 0.0f;                                                                                                  \
    if (c < channels) v = from_load(x + x_at, element(plane / blocks, c, p, channels, pixels, x_block));             \
    to_store(v, y + y_at, i);                                                                                        \
  }

REORDER(f32_f32, float, F32_STORE, float, F32_LOAD)
REORDER(f32_f16, half, F16_STORE, float, F32_LOAD)
REORDER(f16_f32, float, F32_STORE, half, F16_LOAD)
REORDER(f16_f16, half, F16_STORE, half, F16_LOAD)

// The lanes behind the last channel of a blob in blocks of 8.
LINEAR void zero_tail(global stored* y, long y_at, int batch, int channels, int pixels) {
  const int i = get_global_id(0);
  if (i >= batch * pixels) return;
  const int blocks = (channels + 7) / 8;
  const int first = ((i / pixels * blocks + blocks - 1) * pixels + i % pixels) * 8;
  for (int lane = channels % 8; lane < 8; ++lane) STORE(0.0f, y + y_at, first + lane);
}
