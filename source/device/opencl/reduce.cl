// SPDX-License-Identifier: Apache-2.0
// Reductions: an output is a row (include/row.clh), whose terms are found by a walk of their own. Sums of blocks are
// summed (common.clh).
#include "common.clh"
#include "row.clh"

typedef struct {
  int rank, term_rank, terms;
  int dims[MAX_RANK], strides[MAX_RANK], term_dims[MAX_RANK], term_strides[MAX_RANK];
} Terms;

inline int first_term(Terms t, int output) {
  int at = 0;
  for (int d = t.rank - 1; d >= 0; --d) {
    at += output % t.dims[d] * t.strides[d];
    output /= t.dims[d];
  }
  return at;
}

inline int term(Terms t, int i) {
  if (t.term_rank == 1) return i * t.term_strides[0];
  int at = 0;
  for (int d = t.term_rank - 1; d >= 0; --d) {
    at += i % t.term_dims[d] * t.term_strides[d];
    i /= t.term_dims[d];
  }
  return at;
}

#define OUTPUT(SHAPE, element_type)                                                                                   \
  const int output = ROW_##SHAPE;                                                                                     \
  if (output >= count) return;                                                                                        \
  global const element_type* from = in + in_at + first_term(t, output);

// x: a term; n: how many; m: of LogSumExp, the largest term (0 where that is infinite); s: the sum.
#define SUM(name, maximum, each, result, SHAPE)                                                                       \
  LINEAR void NAME_##SHAPE(reduce_##name)(global stored* y, long y_at, global const stored* in, long in_at,           \
                                          int count, Terms t) {                                                       \
    LOCALS_##SHAPE(float)                                                                                             \
    OUTPUT(SHAPE, stored)                                                                                             \
    const float n = t.terms;                                                                                          \
    float m = 0.0f;                                                                                                   \
    if (maximum) {                                                                                                    \
      m = -INFINITY;                                                                                                  \
      for (int i = FIRST_##SHAPE; i < t.terms; i += STEP_##SHAPE) m = fmax(m, LOAD(from, term(t, i)));                \
      JOIN_##SHAPE(float, m, fmax(a, b))                                                                              \
      if (isinf(m)) m = 0.0f;                                                                                         \
    }                                                                                                                 \
    float s = 0.0f;                                                                                                   \
    for (int begin = FIRST_##SHAPE; begin < t.terms; begin += SUM_BLOCK * STEP_##SHAPE) {                             \
      const int end = min(begin + SUM_BLOCK * STEP_##SHAPE, t.terms);                                                 \
      float block = 0.0f;                                                                                             \
      for (int i = begin; i < end; i += STEP_##SHAPE) {                                                               \
        const float x = LOAD(from, term(t, i));                                                                       \
        block += each;                                                                                                \
      }                                                                                                               \
      s += block;                                                                                                     \
    }                                                                                                                 \
    JOIN_##SHAPE(float, s, a + b)                                                                                     \
    if (WRITES_##SHAPE) STORE(result, y + y_at, output);                                                              \
  }

// x: a term (of whole numbers its bits), of which `each` is taken; `both` joins two results a and b. T is their type, U
// its bits.
#define FOLD(name, value_type, bits_type, x_type, element_type, load, store, start, each, both, SHAPE)                \
  LINEAR void NAME_##SHAPE(reduce_##name)(global element_type* y, long y_at, global const element_type* in,           \
                                          long in_at, int count, Terms t) {                                           \
    typedef value_type T;                                                                                             \
    typedef bits_type U;                                                                                              \
    LOCALS_##SHAPE(T)                                                                                                 \
    OUTPUT(SHAPE, element_type)                                                                                       \
    T a = start;                                                                                                      \
    for (int i = FIRST_##SHAPE; i < t.terms; i += STEP_##SHAPE) {                                                     \
      const x_type x = (x_type)load(from, term(t, i));                                                                \
      const T b = (T)(each);                                                                                          \
      a = both;                                                                                                       \
    }                                                                                                                 \
    T all = a;                                                                                                        \
    JOIN_##SHAPE(T, all, both)                                                                                        \
    if (WRITES_##SHAPE) store(all, y + y_at, output);                                                                 \
  }

// Floats: the rows of op/reduce.def by their combine. A NaN wins and stays.
#define Magnitude(x) fabs(x)
#define FLOAT_FOLD(name, start, each, both, SHAPE)                                                                    \
  FOLD(name, float, uint, float, stored, LOAD, STORE, start, each, both, SHAPE)
#define FLOAT_Sum(name, each, result, SHAPE) SUM(name, false, each, result, SHAPE)
#define FLOAT_ShiftedSum(name, each, result, SHAPE) SUM(name, true, each, result, SHAPE)
#define FLOAT_Product(name, each, result, SHAPE) FLOAT_FOLD(name, 1.0f, each, a * b, SHAPE)
#define FLOAT_Largest(name, each, result, SHAPE)                                                                      \
  FLOAT_FOLD(name, -INFINITY, each, (b > a || b != b) && a == a ? b : a, SHAPE)
#define FLOAT_Smallest(name, each, result, SHAPE)                                                                     \
  FLOAT_FOLD(name, INFINITY, each, (b < a || b != b) && a == a ? b : a, SHAPE)
#define PLUMB_REDUCE(name, combine, numbers, each, result)                                                            \
  FLOAT_##combine(name, each, result, ITEM)                                                                           \
  FLOAT_##combine(name, each, result, SHARED)
#include "reduce.def"
#undef PLUMB_REDUCE
#undef Magnitude

// Whole numbers, which wrap round.
#define PLAIN_LOAD(p, i) (p)[i]
#define PLAIN_STORE(v, p, i) (p)[i] = (v)
#define Magnitude(x) abs((T)(x))
#define WHOLE_FOLD(name, T, U, start, each, both, SHAPE)                                                              \
  FOLD(name##_##T, T, U, U, T, PLAIN_LOAD, PLAIN_STORE, start, each, both, SHAPE)
#define WHOLE_Sum(name, T, U, low, high, each, SHAPE) WHOLE_FOLD(name, T, U, 0, each, (T)((U)a + (U)b), SHAPE)
#define WHOLE_Product(name, T, U, low, high, each, SHAPE) WHOLE_FOLD(name, T, U, 1, each, (T)((U)a * (U)b), SHAPE)
#define WHOLE_Largest(name, T, U, low, high, each, SHAPE) WHOLE_FOLD(name, T, U, low, each, b > a ? b : a, SHAPE)
#define WHOLE_Smallest(name, T, U, low, high, each, SHAPE) WHOLE_FOLD(name, T, U, high, each, b < a ? b : a, SHAPE)
#define NUMBERS_floats(name, combine, each)
#define NUMBERS_whole(name, combine, each)                                                                            \
  WHOLE_##combine(name, int, uint, INT_MIN, INT_MAX, each, ITEM)                                                      \
  WHOLE_##combine(name, int, uint, INT_MIN, INT_MAX, each, SHARED)                                                    \
  WHOLE_##combine(name, long, ulong, LONG_MIN, LONG_MAX, each, ITEM)                                                  \
  WHOLE_##combine(name, long, ulong, LONG_MIN, LONG_MAX, each, SHARED)
#define PLUMB_REDUCE(name, combine, numbers, each, result) NUMBERS_##numbers(name, combine, each)
#include "reduce.def"
