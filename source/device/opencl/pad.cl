// SPDX-License-Identifier: Apache-2.0
// Pad, by element size.
#include "common.clh"

// Padding: per output dim a table says which input position each output position shows, -1: the fill value. The tables
// lie one after the other in `from`.
typedef struct {
  int rank;
  int in[MAX_RANK], out[MAX_RANK];
} PadDims;

#define PAD(size, T)                                                                                          \
  LINEAR void pad_##size(global T* y, long y_at, global const T* x, long x_at, global const int* from, int count, \
                         PadDims dims, ulong fill) {                                                          \
    const int i = get_global_id(0);                                                                           \
    if (i >= count) return;                                                                                   \
    int rest = i, at = 0, step = 1, table = 0;                                                                \
    for (int d = 0; d < dims.rank; ++d) table += dims.out[d];                                                 \
    for (int d = dims.rank - 1; d >= 0; --d) {                                                                \
      table -= dims.out[d];                                                                                   \
      const int position = from[table + rest % dims.out[d]];                                                  \
      rest /= dims.out[d];                                                                                    \
      at = at < 0 || position < 0 ? -1 : at + position * step;                                                \
      step *= dims.in[d];                                                                                     \
    }                                                                                                         \
    y[y_at + i] = at < 0 ? (T)fill : x[x_at + at];                                                            \
  }
PAD(1, uchar)
PAD(2, ushort)
PAD(4, uint)
PAD(8, ulong)
