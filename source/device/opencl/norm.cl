// SPDX-License-Identifier: Apache-2.0
// The norms by mean and variance, over rows of neighbours.
#include "common.clh"
#include "row.clh"

// Rows of n neighbours: y = gamma (x - mean) / sqrt(variance + eps) + beta, in two passes. Element i of row r takes
// gamma and beta number (r % groups) * per_row + i / stretch; has: 1 gamma, 2 beta.
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
