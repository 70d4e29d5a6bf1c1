// Copies along a walk: element (i0, i1, ...) goes from x_first + sum i * x[d] to y_first + sum i * y[d]. By element size, so
// that one kernel serves every dtype.
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

// Padding: per output dim a table says which input position each output position shows, -1: the fill value. The tables lie one
// after the other in `from`.
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

// Where an index vector is an input: starts[s] = batch * batch_step + sum of index[j] * steps[j]. An index outside its dim counts
// as 0 and is reported in flag.
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
