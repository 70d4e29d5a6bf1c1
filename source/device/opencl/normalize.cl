// SPDX-License-Identifier: Apache-2.0
// Normalize over the rows of a plain blob (row.clh).
#include "common.clh"
#include "row.clh"

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
