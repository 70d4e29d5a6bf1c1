// Operators over one axis of a plain blob [outer, n, inner]: rows of n elements that lie `inner` apart, as include/row.clh has them.
#include "common.clh"
#include "row.clh"

#define ROW(SHAPE)                                                                                                    \
  const int row = ROW_##SHAPE;                                                                                        \
  if (row >= outer * inner) return;                                                                                   \
  const int first = row / inner * n * inner + row % inner;                                                            \
  global const stored* from = x + x_at + first

// The sum of f(v) over the row, v being the element.
#define ROW_SUM(SHAPE, sum, f)                                                                                        \
  float sum = 0.0f;                                                                                                   \
  for (int begin = FIRST_##SHAPE; begin < n; begin += SUM_BLOCK * STEP_##SHAPE) {                                     \
    const int end = min(begin + SUM_BLOCK * STEP_##SHAPE, n);                                                         \
    float block = 0.0f;                                                                                               \
    for (int i = begin; i < end; i += STEP_##SHAPE) {                                                                 \
      const float v = LOAD(from, i * inner);                                                                          \
      block += f;                                                                                                     \
    }                                                                                                                 \
    sum += block;                                                                                                     \
  }                                                                                                                   \
  JOIN_##SHAPE(float, sum, a + b)

#define SOFTMAX(name, result, SHAPE)                                                                                  \
  LINEAR void NAME_##SHAPE(name)(global stored* y, long y_at, global const stored* x, long x_at, int outer, int n,    \
                                 int inner) {                                                                         \
    LOCALS_##SHAPE(float)                                                                                             \
    ROW(SHAPE);                                                                                                       \
    float m = -INFINITY;                                                                                              \
    for (int i = FIRST_##SHAPE; i < n; i += STEP_##SHAPE) {                                                           \
      const float v = LOAD(from, i * inner);                                                                          \
      m = v > m || v != v ? v : m;                                                                                    \
    }                                                                                                                 \
    JOIN_##SHAPE(float, m, b > a || b != b ? b : a)                                                                   \
    ROW_SUM(SHAPE, sum, exp(v - m))                                                                                   \
    const float log_sum = log(sum);                                                                                   \
    for (int i = FIRST_##SHAPE; i < n; i += STEP_##SHAPE) {                                                           \
      const float v = LOAD(from, i * inner);                                                                          \
      STORE(result, y + y_at, first + i * inner);                                                                     \
    }                                                                                                                 \
  }
SOFTMAX(softmax, exp(v - m) / sum, ITEM)
SOFTMAX(softmax, exp(v - m) / sum, SHARED)
SOFTMAX(log_softmax, (v - m) - log_sum, ITEM)
SOFTMAX(log_softmax, (v - m) - log_sum, SHARED)

// y = x / max(norm, epsilon). kind 0: sum |x|, 1: sqrt(sum x^2), 2: max |x|, 3: min |x|.
#define EXTREME(a, b) b != b || (kind == 2 ? b > a : b < a) ? b : a
#define NORMALIZE(SHAPE)                                                                                              \
  LINEAR void NAME_##SHAPE(normalize_rows)(global stored* y, long y_at, global const stored* x, long x_at, int outer, \
                                           int n, int inner, int kind, float epsilon) {                               \
    LOCALS_##SHAPE(float)                                                                                             \
    ROW(SHAPE);                                                                                                       \
    float norm = kind == 3 ? INFINITY : 0.0f;                                                                         \
    if (kind == 0) {                                                                                                  \
      ROW_SUM(SHAPE, sum, fabs(v))                                                                                    \
      norm = sum;                                                                                                     \
    } else if (kind == 1) {                                                                                           \
      ROW_SUM(SHAPE, sum, v * v)                                                                                      \
      norm = sqrt(sum);                                                                                               \
    } else {                                                                                                          \
      for (int i = FIRST_##SHAPE; i < n; i += STEP_##SHAPE) {                                                         \
        const float v = fabs(LOAD(from, i * inner));                                                                  \
        norm = EXTREME(norm, v);                                                                                      \
      }                                                                                                               \
      JOIN_##SHAPE(float, norm, EXTREME(a, b))                                                                        \
    }                                                                                                                 \
    norm = norm < epsilon ? epsilon : norm;                                                                           \
    for (int i = FIRST_##SHAPE; i < n; i += STEP_##SHAPE) {                                                           \
      STORE(LOAD(from, i * inner) / norm, y + y_at, first + i * inner);                                               \
    }                                                                                                                 \
  }
NORMALIZE(ITEM)
NORMALIZE(SHARED)

// Rows of n neighbours: y = gamma (x - mean) / sqrt(variance + eps) + beta, in two passes. Element i of row r takes gamma and
// beta number (r % groups) * per_row + i / stretch; has: 1 gamma, 2 beta.
#define NORM(SHAPE)                                                                                                   \
  LINEAR void NAME_##SHAPE(norm_rows)(global stored* y, long y_at, global const stored* x, long x_at,                 \
                                      global const float* gamma, long gamma_at, global const float* beta,             \
                                      long beta_at, int outer, int n, int groups, int per_row, int stretch, float eps, \
                                      int has) {                                                                      \
    LOCALS_##SHAPE(float)                                                                                             \
    const int inner = 1;                                                                                              \
    ROW(SHAPE);                                                                                                       \
    ROW_SUM(SHAPE, sum, v)                                                                                            \
    const float mean = sum / n;                                                                                       \
    ROW_SUM(SHAPE, squares, (v - mean) * (v - mean))                                                                  \
    const float scale = 1.0f / sqrt(squares / n + eps);                                                               \
    for (int i = FIRST_##SHAPE; i < n; i += STEP_##SHAPE) {                                                           \
      const int c = row % groups * per_row + i / stretch;                                                             \
      const float g = has & 1 ? gamma[gamma_at + c] : 1.0f, b = has & 2 ? beta[beta_at + c] : 0.0f;                   \
      STORE(fma((LOAD(from, i) - mean) * scale, g, b), y + y_at, first + i);                                          \
    }                                                                                                                 \
  }
NORM(ITEM)
NORM(SHARED)

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
