// Reductions: one item per output, whose terms are found by a walk of their own. Sums of blocks are summed (common.clh).
#include "common.clh"

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

// x: a term; n: how many; m: of LogSumExp, the largest term (0 where that is infinite); s: the sum.
#define SUM(name, maximum, each, result)                                                                             \
  LINEAR void reduce_##name(global stored* y, long y_at, global const stored* in, long in_at, int count, Terms t) {  \
    const int output = get_global_id(0);                                                                             \
    if (output >= count) return;                                                                                     \
    global const stored* from = in + in_at + first_term(t, output);                                                  \
    const float n = t.terms;                                                                                         \
    float m = 0.0f;                                                                                                  \
    if (maximum) {                                                                                                   \
      m = -INFINITY;                                                                                                 \
      for (int i = 0; i < t.terms; ++i) m = fmax(m, LOAD(from, term(t, i)));                                         \
      if (isinf(m)) m = 0.0f;                                                                                        \
    }                                                                                                                \
    float s = 0.0f;                                                                                                  \
    for (int begin = 0; begin < t.terms; begin += SUM_BLOCK) {                                                       \
      const int end = min(begin + SUM_BLOCK, t.terms);                                                               \
      float block = 0.0f;                                                                                            \
      for (int i = begin; i < end; ++i) {                                                                            \
        const float x = LOAD(from, term(t, i));                                                                      \
        block += each;                                                                                               \
      }                                                                                                              \
      s += block;                                                                                                    \
    }                                                                                                                \
    STORE(result, y + y_at, output);                                                                                 \
  }

SUM(ReduceSum, false, x, s)
SUM(ReduceMean, false, x, s / n)
SUM(ReduceL1, false, fabs(x), s)
SUM(ReduceL2, false, x* x, sqrt(s))
SUM(ReduceSumSquare, false, x* x, s)
SUM(ReduceLogSum, false, x, log(s))
SUM(ReduceLogSumExp, true, exp(x - m), m + log(s))

// v: a term, s: the result so far.
#define FOLD(name, T, element_type, load, store, start, step)                                          \
  LINEAR void reduce_##name(global element_type* y, long y_at, global const element_type* in, long in_at, int count, \
                            Terms t) {                                                                 \
    const int output = get_global_id(0);                                                               \
    if (output >= count) return;                                                                       \
    global const element_type* from = in + in_at + first_term(t, output);                              \
    T s = start;                                                                                       \
    for (int i = 0; i < t.terms; ++i) {                                                                \
      const T v = load(from, term(t, i));                                                              \
      s = step;                                                                                        \
    }                                                                                                  \
    store(s, y + y_at, output);                                                                        \
  }

FOLD(ReduceMax, float, stored, LOAD, STORE, -INFINITY, (v > s || v != v) && s == s ? v : s)
FOLD(ReduceMin, float, stored, LOAD, STORE, INFINITY, (v < s || v != v) && s == s ? v : s)
FOLD(ReduceProd, float, stored, LOAD, STORE, 1.0f, s* v)

#define PLAIN_LOAD(p, i) (p)[i]
#define PLAIN_STORE(v, p, i) (p)[i] = (v)
#define WHOLE(T, U, low, high)                                                                             \
  FOLD(ReduceSum_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 0, (T)((U)s + (U)v))                                  \
  FOLD(ReduceProd_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 1, (T)((U)s * (U)v))                                 \
  FOLD(ReduceMax_##T, T, T, PLAIN_LOAD, PLAIN_STORE, low, v > s ? v : s)                                   \
  FOLD(ReduceMin_##T, T, T, PLAIN_LOAD, PLAIN_STORE, high, v < s ? v : s)                                  \
  FOLD(ReduceL1_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 0, (T)((U)s + abs(v)))              \
  FOLD(ReduceSumSquare_##T, T, T, PLAIN_LOAD, PLAIN_STORE, 0, (T)((U)s + (U)v * (U)v))
WHOLE(int, uint, INT_MIN, INT_MAX)
WHOLE(long, ulong, LONG_MIN, LONG_MAX)
