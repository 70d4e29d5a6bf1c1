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

#define PLUMB_UNARY(name, file, max_inputs, zero, spread, x86, expression) UNARY(name, expression)
#include "unary.def"

// ReLU, Abs, Neg, Sign and Clip of whole numbers (WholeUnary), which wrap around.
#define UNARY_INT(T, U)                                                                                           \
  LINEAR void unary_##T(global T* y, long y_at, global const T* in, long in_at, int count, int op, T low, T high) { \
    const int i = get_global_id(0);                                                                               \
    if (i >= count) return;                                                                                       \
    const T x = in[in_at + i];                                                                                    \
    const T negated = (T)(0 - (U)x);                                                                              \
    T v = x;                                                                                                      \
    if (op == 0) v = x < 0 ? 0 : x;                                                                               \
    if (op == 1) v = (T)abs(x);                                                                                   \
    if (op == 2) v = negated;                                                                                     \
    if (op == 3) v = (x > 0) - (x < 0);                                                                           \
    if (op == 4) v = x < low ? (low > high ? high : low) : x > high ? high : x;                                   \
    y[y_at + i] = v;                                                                                              \
  }
UNARY_INT(int, uint)
UNARY_INT(long, ulong)
