// SPDX-License-Identifier: Apache-2.0
// Where, by element size.
#include "common.clh"

// Where: condition ? first : second, all three broadcast.
typedef struct {
  int rank;
  int dims[MAX_RANK], x[MAX_RANK], y[MAX_RANK], condition[MAX_RANK];
} Choice;

#define WHERE(size, T)                                                                                            \
  LINEAR void where_##size(global T* out, long out_at, global const T* x, long x_at, global const T* y, long y_at, \
                           global const uchar* condition, long condition_at, int condition_bytes, int count,      \
                           Choice walk) {                                                                         \
    const int i = get_global_id(0);                                                                               \
    if (i >= count) return;                                                                                       \
    int rest = i, from_x = 0, from_y = 0, from_condition = 0;                                                     \
    for (int d = walk.rank - 1; d >= 0; --d) {                                                                    \
      const int at = rest % walk.dims[d];                                                                         \
      rest /= walk.dims[d];                                                                                       \
      from_x += at * walk.x[d];                                                                                   \
      from_y += at * walk.y[d];                                                                                   \
      from_condition += at * walk.condition[d];                                                                   \
    }                                                                                                             \
    uchar any = 0;                                                                                                \
    for (int k = 0; k < condition_bytes; ++k) {                                                                   \
      any |= condition[(condition_at + from_condition) * condition_bytes + k];                                    \
    }                                                                                                             \
    out[out_at + i] = any ? x[x_at + from_x] : y[y_at + from_y];                                                  \
  }
WHERE(1, uchar)
WHERE(2, ushort)
WHERE(4, uint)
WHERE(8, ulong)
