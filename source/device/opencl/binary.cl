// SPDX-License-Identifier: Apache-2.0
// Binary element-wise operators with broadcasting: the rows of op/binary.def, each for f32, i32 and i64 blobs. A walk
// over the output's dims finds both operands by their strides (0 where an operand repeats).
#include "common.clh"
#include "math.clh"

typedef struct {
  int rank;
  int dims[MAX_RANK], a[MAX_RANK], b[MAX_RANK];
} Pairs;

// The operand that is the layer's constant (wide 0 or 1) is f32, whatever the blobs' storage.
#define WIDE(T, p, i) ((global const T*)(p))[i]

// In `expression`, T is the type of a and b and U its bits.
#define BINARY(name, value_type, bits_type, element_type, load, store, expression)                                  \
  LINEAR void binary_##name##_##value_type(global element_type* y, long y_at, global const element_type* first,      \
                                           long first_at, global const element_type* second, long second_at,         \
                                           int count, Pairs walk, float alpha, float beta, int wide) {               \
    typedef value_type T;                                                                                            \
    typedef bits_type U;                                                                                             \
    const int i = get_global_id(0);                                                                                  \
    if (i >= count) return;                                                                                          \
    int rest = i, at_a = 0, at_b = 0;                                                                                \
    for (int d = walk.rank - 1; d >= 0; --d) {                                                                       \
      const int at = rest % walk.dims[d];                                                                            \
      rest /= walk.dims[d];                                                                                          \
      at_a += at * walk.a[d];                                                                                        \
      at_b += at * walk.b[d];                                                                                        \
    }                                                                                                                \
    const T a = wide == 0 ? WIDE(value_type, first, at_a) : load(first + first_at, at_a);                            \
    const T b = wide == 1 ? WIDE(value_type, second, at_b) : load(second + second_at, at_b);                         \
    store((expression), y + y_at, i);                                                                                \
  }

#define PLAIN_LOAD(p, i) (p)[i]
#define PLAIN_STORE(v, p, i) (p)[i] = (v)
#define FLOATS(name, expression) BINARY(name, float, uint, stored, LOAD, STORE, expression)

// Whole numbers wrap round; x / 0 and x mod 0 are 0. By way of long, where that is the same.
inline long whole_power(long base, long e) {
  if (e < 0) return base == 1 ? 1 : base == -1 ? (e % 2 == 0 ? 1 : -1) : 0;
  ulong result = 1, factor = (ulong)base;
  for (; e > 0; e /= 2, factor *= factor) {
    if (e % 2 != 0) result *= factor;
  }
  return (long)result;
}
inline long floor_remainder(long a, long b) {
  const long rest = b == 0 || b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
#define Bits(v) ((U)(v))
#define Wrap(v) ((T)(v))
#define Quotient(a, b) ((b) == 0 ? 0 : (b) == -1 ? Wrap(0 - Bits(a)) : (a) / (b))
#define Remainder(a, b) ((b) == 0 || (b) == -1 ? 0 : (a) % (b))
#define FloorRemainder(a, b) Wrap(floor_remainder(a, b))
#define WholePower(a, b) Wrap(whole_power(a, b))

#define PLUMB_BINARY(name, min_inputs, fill, cpu, whole, expression)        \
  FLOATS(name, expression)                                                  \
  BINARY(name, int, uint, int, PLAIN_LOAD, PLAIN_STORE, whole)              \
  BINARY(name, long, ulong, long, PLAIN_LOAD, PLAIN_STORE, whole)
#include "binary.def"

// HardSwish of two inputs.
FLOATS(Gate, a * hard_sigmoid(b, alpha, beta))
