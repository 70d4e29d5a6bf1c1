// Equal, Greater, Less, And, Not with broadcasting, as bool (one byte). Floats compare as float (f64 as double), whole numbers as
// long; NaN compares false.
#include "common.clh"
#include "dtype.clh"

typedef struct {
  int rank;
  int dims[MAX_RANK], a[MAX_RANK], b[MAX_RANK];
} Pairs;

#define COMPARE(T)                       \
  inline uchar compare_##T(int op, T a, T b) { \
    if (op == 0) return a == b;          \
    if (op == 1) return a > b;           \
    if (op == 2) return a < b;           \
    if (op == 3) return a != 0 && b != 0; \
    return a == 0;                       \
  }
COMPARE(float)
COMPARE(long)
#ifdef PLUMB_F64
COMPARE(double)
#endif

LINEAR void compare(global uchar* y, long y_at, global const uchar* first, long first_at, global const uchar* second,
                    long second_at, int count, int op, int dtype, Pairs walk) {
  const int i = get_global_id(0);
  if (i >= count) return;
  int rest = i, at_a = 0, at_b = 0;
  for (int d = walk.rank - 1; d >= 0; --d) {
    const int at = rest % walk.dims[d];
    rest /= walk.dims[d];
    at_a += at * walk.a[d];
    at_b += at * walk.b[d];
  }
  const long a = first_at + at_a, b = second_at + at_b;
  uchar v;
  if (dtype == F32) {
#ifdef PLUMB_F16
    v = compare_float(op, vload_half(a, (global const half*)first), vload_half(b, (global const half*)second));
#else
    v = compare_float(op, ((global const float*)first)[a], ((global const float*)second)[b]);
#endif
#ifdef PLUMB_F64
  } else if (dtype == F64) {
    v = compare_double(op, ((global const double*)first)[a], ((global const double*)second)[b]);
#endif
  } else {
    v = compare_long(op, load_long(first, a, dtype), load_long(second, b, dtype));
  }
  y[y_at + i] = v;
}
