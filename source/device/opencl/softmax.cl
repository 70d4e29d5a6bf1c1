// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax over the rows of a plain blob (row.clh).
#include "common.clh"
#include "row.clh"

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
