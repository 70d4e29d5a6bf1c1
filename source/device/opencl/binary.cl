// Binary element-wise operators with broadcasting: a row each, for f32, i32 and i64 blobs. A walk over the output's dims finds
// both operands by their strides (0 where an operand repeats).
// Floats: Maximum and Minimum are NaN when either operand is. Whole numbers wrap around; x / 0 = 0, MIN / -1 = MIN.
#include "common.clh"
#include "math.clh"

typedef struct {
  int rank;
  int dims[MAX_RANK], a[MAX_RANK], b[MAX_RANK];
} Pairs;

// The operand that is the layer's constant (wide 0 or 1) is f32, whatever the blobs' storage.
#define WIDE(T, p, i) ((global const T*)(p))[i]

#define BINARY(name, T, element_type, load, store, expression)                                                       \
  LINEAR void binary_##name##_##T(global element_type* y, long y_at, global const element_type* first, long first_at, \
                                  global const element_type* second, long second_at, int count, Pairs walk,          \
                                  float alpha, float beta, int wide) {                                               \
    const int i = get_global_id(0);                                                                                  \
    if (i >= count) return;                                                                                          \
    int rest = i, at_a = 0, at_b = 0;                                                                                \
    for (int d = walk.rank - 1; d >= 0; --d) {                                                                       \
      const int at = rest % walk.dims[d];                                                                            \
      rest /= walk.dims[d];                                                                                          \
      at_a += at * walk.a[d];                                                                                        \
      at_b += at * walk.b[d];                                                                                        \
    }                                                                                                                \
    const T a = wide == 0 ? WIDE(T, first, at_a) : load(first + first_at, at_a);                                     \
    const T b = wide == 1 ? WIDE(T, second, at_b) : load(second + second_at, at_b);                                  \
    store(expression, y + y_at, i);                                                                                  \
  }

#define PLAIN_LOAD(p, i) (p)[i]
#define PLAIN_STORE(v, p, i) (p)[i] = (v)
#define FLOATS(name, expression) BINARY(name, float, stored, LOAD, STORE, expression)
#define INTS(name, expression) BINARY(name, int, int, PLAIN_LOAD, PLAIN_STORE, expression)
#define LONGS(name, expression) BINARY(name, long, long, PLAIN_LOAD, PLAIN_STORE, expression)

// e >= 0: by squaring; e < 0: 1 / b^|e| rounded to zero.
#define POWER(T, U)                                                 \
  inline T power_##T(T base, T e) {                                 \
    if (e < 0) {                                                    \
      if (base == 1) return 1;                                      \
      if (base == -1) return e % 2 == 0 ? 1 : -1;                   \
      return 0;                                                     \
    }                                                               \
    U result = 1, factor = (U)base;                                 \
    for (; e > 0; e /= 2, factor *= factor) {                       \
      if (e % 2 != 0) result *= factor;                             \
    }                                                               \
    return (T)result;                                               \
  }
POWER(int, uint)
POWER(long, ulong)

#define DIVIDE(T, U)                                                                              \
  inline T divide_##T(T a, T b) { return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b; }
DIVIDE(int, uint)
DIVIDE(long, ulong)

FLOATS(Add, a + b)
FLOATS(Sub, a - b)
FLOATS(Mul, a * b)
FLOATS(Div, a / b)
FLOATS(Maximum, b == b ? (a < b ? b : a) : b)
FLOATS(Minimum, b == b ? (a > b ? b : a) : b)
FLOATS(PlumbPow, pow(a, b))
FLOATS(SquaredDifference, (a - b) * (a - b))
// HardSwish of two inputs.
FLOATS(Gate, a* clip(fma(b, alpha, beta), 0.0f, 1.0f))

INTS(Add, (int)((uint)a + (uint)b))
INTS(Sub, (int)((uint)a - (uint)b))
INTS(Mul, (int)((uint)a * (uint)b))
INTS(Div, divide_int(a, b))
INTS(Maximum, a < b ? b : a)
INTS(Minimum, a > b ? b : a)
INTS(PlumbPow, power_int(a, b))
INTS(SquaredDifference, (int)(((uint)a - (uint)b) * ((uint)a - (uint)b)))

LONGS(Add, (long)((ulong)a + (ulong)b))
LONGS(Sub, (long)((ulong)a - (ulong)b))
LONGS(Mul, (long)((ulong)a * (ulong)b))
LONGS(Div, divide_long(a, b))
LONGS(Maximum, a < b ? b : a)
LONGS(Minimum, a > b ? b : a)
LONGS(PlumbPow, power_long(a, b))
LONGS(SquaredDifference, (long)(((ulong)a - (ulong)b) * ((ulong)a - (ulong)b)))
