// SPDX-License-Identifier: Apache-2.0
// ArgMaxOrMin over the rows of a plain blob (row.clh).
#include "common.clh"
#include "row.clh"

// The index of the largest or smallest element; of equal ones the first or the last. NaN wins.
#define FOUND(name, T, is_nan)                                                                                        \
  typedef struct {                                                                                                    \
    T value;                                                                                                          \
    int index;                                                                                                        \
  } Found_##name;                                                                                                     \
  inline Found_##name better_##name(Found_##name a, Found_##name b, int smallest, int last) {                         \
    const bool equal = a.value == b.value || (is_nan(a.value) && is_nan(b.value));                                    \
    if (equal) return (b.index > a.index) == (last != 0) ? b : a;                                                     \
    if (is_nan(b.value)) return b;                                                                                    \
    return !is_nan(a.value) && (smallest ? b.value < a.value : b.value > a.value) ? b : a;                            \
  }
#define ARG(name, T, element_type, load, SHAPE)                                                                       \
  LINEAR void NAME_##SHAPE(arg_##name)(global int* y, long y_at, global const element_type* x, long x_at, int outer,  \
                                       int n, int inner, int smallest, int last) {                                    \
    LOCALS_##SHAPE(Found_##name)                                                                                      \
    const int row = ROW_##SHAPE;                                                                                      \
    if (row >= outer * inner) return;                                                                                 \
    global const element_type* from = x + x_at + (row / inner * n * inner + row % inner);                             \
    Found_##name best = {load(from, FIRST_##SHAPE * inner), FIRST_##SHAPE};                                           \
    for (int i = FIRST_##SHAPE + STEP_##SHAPE; i < n; i += STEP_##SHAPE) {                                            \
      const Found_##name next = {load(from, i * inner), i};                                                           \
      best = better_##name(best, next, smallest, last);                                                               \
    }                                                                                                                 \
    JOIN_##SHAPE(Found_##name, best, better_##name(a, b, smallest, last))                                             \
    if (WRITES_##SHAPE) y[y_at + row] = best.index;                                                                   \
  }
#define PLAIN_LOAD(p, i) (p)[i]
#define FLOAT_NAN(v) ((v) != (v))
#define NO_NAN(v) false
FOUND(float, float, FLOAT_NAN)
FOUND(int, int, NO_NAN)
FOUND(long, long, NO_NAN)
ARG(float, float, stored, LOAD, ITEM)
ARG(float, float, stored, LOAD, SHARED)
ARG(int, int, int, PLAIN_LOAD, ITEM)
ARG(int, int, int, PLAIN_LOAD, SHARED)
ARG(long, long, long, PLAIN_LOAD, ITEM)
ARG(long, long, long, PLAIN_LOAD, SHARED)
