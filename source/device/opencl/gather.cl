// SPDX-License-Identifier: Apache-2.0
// Gather and GatherND, by element size.
#include "common.clh"

// Gather: output slice s of `slice` elements begins at element starts[s] of the data.
#define GATHER(size, T)                                                                                       \
  LINEAR void gather_##size(global T* y, long y_at, global const T* x, long x_at, global const long* starts,  \
                            int count, int slice) {                                                           \
    const int i = get_global_id(0);                                                                           \
    if (i >= count) return;                                                                                   \
    y[y_at + i] = x[x_at + starts[i / slice] + i % slice];                                                    \
  }
GATHER(1, uchar)
GATHER(2, ushort)
GATHER(4, uint)
GATHER(8, ulong)

// Where an index vector is an input: starts[s] = batch * batch_step + sum of index[j] * steps[j]. An index outside its
// dim counts as 0 and is reported in flag.
typedef struct {
  int width, count, batched;
  int dims[MAX_RANK], steps[MAX_RANK];
  int batch_step;
} Index;

#define STARTS(T)                                                                                                   \
  LINEAR void gather_starts_##T(global long* starts, global int* flag, global const T* index, long index_at, int n, \
                                Index g) {                                                                          \
    const int s = get_global_id(0);                                                                                 \
    if (s >= n) return;                                                                                             \
    const int batch = s / g.count;                                                                                  \
    const int vector = (g.batched ? s : s % g.count) * g.width;                                                     \
    long start = (long)batch * g.batch_step;                                                                        \
    for (int j = 0; j < g.width; ++j) {                                                                             \
      long at = (long)index[index_at + vector + j];                                                                 \
      if (at < -(long)g.dims[j] || at >= (long)g.dims[j]) {                                                         \
        flag[1] = (int)at;                                                                                          \
        flag[0] = 1;                                                                                                \
        at = 0;                                                                                                     \
      }                                                                                                             \
      start += (at < 0 ? at + g.dims[j] : at) * g.steps[j];                                                         \
    }                                                                                                               \
    starts[s] = start;                                                                                              \
  }
STARTS(char)
STARTS(uchar)
STARTS(short)
STARTS(ushort)
STARTS(int)
STARTS(uint)
STARTS(long)
