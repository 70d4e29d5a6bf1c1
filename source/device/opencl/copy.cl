// SPDX-License-Identifier: Apache-2.0
// Copies along a walk: element (i0, i1, ...) goes from x_first + sum i * x[d] to y_first + sum i * y[d]. By element
// size, so that one kernel serves every dtype.
#include "common.clh"

typedef struct {
  int rank;
  int dims[MAX_RANK], x[MAX_RANK], y[MAX_RANK];
} Walk;

#define COPY(size, T)                                                                                                 \
  LINEAR void copy_##size(global T* y, long y_at, global const T* x, long x_at, int count, int y_first, int x_first,  \
                          Walk walk) {                                                                                \
    const int i = get_global_id(0);                                                                                   \
    if (i >= count) return;                                                                                           \
    int rest = i, from = x_first, to = y_first;                                                                       \
    for (int d = walk.rank - 1; d >= 0; --d) {                                                                        \
      const int at = rest % walk.dims[d];                                                                             \
      rest /= walk.dims[d];                                                                                           \
      from += at * walk.x[d];                                                                                         \
      to += at * walk.y[d];                                                                                           \
    }                                                                                                                 \
    y[y_at + to] = x[x_at + from];                                                                                    \
  }
COPY(1, uchar)
COPY(2, ushort)
COPY(4, uint)
COPY(8, ulong)
