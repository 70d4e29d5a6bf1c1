// Reductions: an output is a row (include/row.clh), whose terms are found by a walk of their own. Sums of blocks are summed
// (common.clh).
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
#define SUMS(SHAPE)                                                                                                   \
  SUM(ReduceSum, false, x, s, SHAPE)                                                                                  \
  SUM(ReduceMean, false, x, s / n, SHAPE)                                                                             \
  SUM(ReduceL1, false, fabs(x), s, SHAPE)                                                                             \
  SUM(ReduceL2, false, x* x, sqrt(s), SHAPE)                                                                          \
  SUM(ReduceSumSquare, false, x* x, s, SHAPE)                                                                         \
  SUM(ReduceLogSum, false, x, log(s), SHAPE)                                                                          \
  SUM(ReduceLogSumExp, true, exp(x - m), m + log(s), SHAPE)
SUMS(ITEM)
SUMS(SHARED)

// v: a term, of which `each` is taken; `both` joins two results a and b.
#define FOLD(name, T, element_type, load, store, start, each, both, SHAPE)                                            \
  LINEAR void NAME_##SHAPE(reduce_##name)(global element_type* y, long y_at, global const element_type* in,           \
                                          long in_at, int count, Terms t) {                                           \
    LOCALS_##SHAPE(T)                                                                                                 \
    OUTPUT(SHAPE, element_type)                                                                                       \
    T a = start;                                                                                                      \
    for (int i = FIRST_##SHAPE; i < t.terms; i += STEP_##SHAPE) {                                                     \
      const T v = load(from, term(t, i));                                                                             \
      const T b = each;                                                                                               \
      a = both;                                                                                                       \
    }                                                                                                                 \
    T all = a;                                                                                                        \
    JOIN_##SHAPE(T, all, both)                                                                                        \
    if (WRITES_##SHAPE) store(all, y + y_at, output);                                                                 \
  }

#define PLAIN_LOAD(p, i) (p)[i]
#define PLAIN_STORE(v, p, i) (p)[i] = (v)
#define FLOATS(SHAPE)                                                                                                 \
  FOLD(ReduceMax, float, stored, LOAD, STORE, -INFINITY, v, (b > a || b != b) && a == a ? b : a, SHAPE)               \
  FOLD(ReduceMin, float, stored, LOAD, STORE, INFINITY, v, (b < a || b != b) && a == a ? b : a, SHAPE)                \
  FOLD(ReduceProd, float, stored, LOAD, STORE, 1.0f, v, a* b, SHAPE)
#define WHOLE(T, U, low, high, SHAPE)                                                                                 \
  FOLD(ReduceSum_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 0, v, (T)((U)a + (U)b), SHAPE)                                   \
  FOLD(ReduceProd_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 1, v, (T)((U)a * (U)b), SHAPE)                                  \
  FOLD(ReduceMax_##T, T, T, PLAIN_LOAD, PLAIN_STORE, low, v, b > a ? b : a, SHAPE)                                    \
  FOLD(ReduceMin_##T, T, T, PLAIN_LOAD, PLAIN_STORE, high, v, b < a ? b : a, SHAPE)                                   \
  FOLD(ReduceL1_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 0, (T)abs(v), (T)((U)a + (U)b), SHAPE)                            \
  FOLD(ReduceSumSquare_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 0, (T)((U)v * (U)v), (T)((U)a + (U)b), SHAPE)
#define FOLDS(SHAPE)                                                                                                  \
  FLOATS(SHAPE)                                                                                                       \
  WHOLE(int, uint, INT_MIN, INT_MAX, SHAPE)                                                                           \
  WHOLE(long, ulong, LONG_MIN, LONG_MAX, SHAPE)
FOLDS(ITEM)
FOLDS(SHARED)
