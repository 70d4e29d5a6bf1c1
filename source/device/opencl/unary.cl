// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one input: a row of op/unary.def each.
#include "common.clh"
#include "math.clh"

#define UNARY(name, expression)                                                                                        \
  LINEAR void unary_##name(global stored* y, long y_at, global const stored* in, long in_at, int count, float a,       \
                           float b, float c) {                                                                         \
    const int i = get_global_id(0);                                                                                    \
    if (i >= count) return;                                                                                            \
    const float x = LOAD(in + in_at, i);                                                                               \
    STORE(expression, y + y_at, i);                                                                                    \
  }

#define PLUMB_UNARY(name, file, max_inputs, zero, spread, cpu, expression) UNARY(name, expression)
#include "unary.def"
