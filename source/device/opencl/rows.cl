// Operators over one axis of a plain blob [outer, n, inner]: one item per row of n elements that lie `inner` apart.
#include "common.clh"

#define ROW                                                                        \
  const int row = get_global_id(0);                                                \
  if (row >= outer * inner) return;                                                \
  const int first = row / inner * n * inner + row % inner;                         \
  global const stored* from = x + x_at + first

// The sum of f(v) over the row, v being the element.
#define ROW_SUM(sum, f)                                        \
  float sum = 0.0f;                                            \
  for (int begin = 0; begin < n; begin += SUM_BLOCK) {         \
    const int end = min(begin + SUM_BLOCK, n);                 \
    float block = 0.0f;                                        \
    for (int i = begin; i < end; ++i) {                        \
      const float v = LOAD(from, i * inner);                   \
      block += f;                                              \
    }                                                          \
    sum += block;                                              \
  }

#define SOFTMAX(name, result)                                                                                         \
  LINEAR void name(global stored* y, long y_at, global const stored* x, long x_at, int outer, int n, int inner) {     \
    ROW;                                                                                                              \
    float m = -INFINITY;                                                                                              \
    for (int i = 0; i < n; ++i) {                                                                                     \
      const float v = LOAD(from, i * inner);                                                                          \
      m = v > m || v != v ? v : m;                                                                                    \
    }                                                                                                                 \
    ROW_SUM(sum, exp(v - m))                                                                                          \
    const float log_sum = log(sum);                                                                                   \
    for (int i = 0; i < n; ++i) {                                                                                     \
      const float v = LOAD(from, i * inner);                                                                          \
      STORE(result, y + y_at, first + i * inner);                                                                     \
    }                                                                                                                 \
  }
SOFTMAX(softmax, exp(v - m) / sum)
SOFTMAX(log_softmax, (v - m) - log_sum)

// y = x / max(norm, epsilon). kind 0: sum |x|, 1: sqrt(sum x^2), 2: max |x|, 3: min |x|.
LINEAR void normalize_rows(global stored* y, long y_at, global const stored* x, long x_at, int outer, int n, int inner, int kind,
                           float epsilon) {
  ROW;
  float norm = kind == 3 ? INFINITY : 0.0f;
  if (kind == 0) {
    ROW_SUM(sum, fabs(v))
    norm = sum;
  } else if (kind == 1) {
    ROW_SUM(sum, v * v)
    norm = sqrt(sum);
  } else {
    for (int i = 0; i < n; ++i) {
      const float v = fabs(LOAD(from, i * inner));
      if (v != v || (kind == 2 ? v > norm : v < norm)) norm = v;
    }
  }
  norm = norm < epsilon ? epsilon : norm;
  for (int i = 0; i < n; ++i) STORE(LOAD(from, i * inner) / norm, y + y_at, first + i * inner);
}

// Rows of n neighbours: y = gamma (x - mean) / sqrt(variance + eps) + beta, in two passes. Element i of row r takes gamma and
// beta number (r % groups) * per_row + i / inner; has: 1 gamma, 2 beta.
LINEAR void norm_rows(global stored* y, long y_at, global const stored* x, long x_at, global const float* gamma, long gamma_at,
                      global const float* beta, long beta_at, int rows, int n, int groups, int per_row, int stretch, float eps,
                      int has) {
  const int inner = 1, row = get_global_id(0);
  if (row >= rows) return;
  const int first = row * n;
  global const stored* from = x + x_at + first;
  ROW_SUM(sum, v)
  const float mean = sum / n;
  ROW_SUM(squares, (v - mean) * (v - mean))
  const float scale = 1.0f / sqrt(squares / n + eps);
  for (int i = 0; i < n; ++i) {
    const int c = row % groups * per_row + i / stretch;
    const float g = has & 1 ? gamma[gamma_at + c] : 1.0f, b = has & 2 ? beta[beta_at + c] : 0.0f;
    STORE(fma((LOAD(from, i) - mean) * scale, g, b), y + y_at, first + i);
  }
}

// The index of the largest (sign 1) or smallest (sign -1) element; of equal ones the first or the last. NaN wins.
#define ARG(name, T, element_type, load, is_nan)                                                                      \
  LINEAR void arg_##name(global int* y, long y_at, global const element_type* x, long x_at, int outer, int n,         \
                         int inner, int smallest, int last) {                                                         \
    const int row = get_global_id(0);                                                                                 \
    if (row >= outer * inner) return;                                                                                 \
    global const element_type* from = x + x_at + (row / inner * n * inner + row % inner);                             \
    int best = 0;                                                                                                     \
    T so_far = load(from, 0);                                                                                         \
    for (int i = 1; i < n; ++i) {                                                                                     \
      const T v = load(from, i * inner);                                                                              \
      bool wins = smallest ? v < so_far : v > so_far;                                                                 \
      if (last && v == so_far) wins = true;                                                                           \
      if (is_nan(v)) wins = last || !is_nan(so_far);                                                                  \
      else if (is_nan(so_far)) wins = false;                                                                          \
      if (wins) {                                                                                                     \
        best = i;                                                                                                     \
        so_far = v;                                                                                                   \
      }                                                                                                               \
    }                                                                                                                 \
    y[y_at + row] = best;                                                                                             \
  }
#define PLAIN_LOAD(p, i) (p)[i]
#define FLOAT_NAN(v) ((v) != (v))
#define NO_NAN(v) false
ARG(float, float, stored, LOAD, FLOAT_NAN)
ARG(int, int, int, PLAIN_LOAD, NO_NAN)
ARG(long, long, long, PLAIN_LOAD, NO_NAN)
