// SPDX-License-Identifier: Apache-2.0
// The comparisons of op/compare.def (op is the row) with broadcasting, as bool (one byte). Floats compare as float (f64
// as double), whole numbers as long; NaN compares false.
#include "common.clh"
#include "dtype.clh"

typedef struct {
  int rank;
  int dims[MAX_RANK], a[MAX_RANK], b[MAX_RANK];
} Pairs;

enum {
#define PLUMB_COMPARE(name, min_inputs, max_inputs, expression) case_##name,
#include "compare.def"
#undef PLUMB_COMPARE
};

#define ZERO 0
#define PLUMB_COMPARE(name, min_inputs, max_inputs, expression) \
  case case_##name:                                             \
    return expression;
inline uchar compare_float(int op, float a, float b) {
  switch (op) {
#include "compare.def"
  }
  return 0;
}
inline uchar compare_long(int op, long a, long b) {
  switch (op) {
#include "compare.def"
  }
  return 0;
}
#ifdef PLUMB_F64
inline uchar compare_double(int op, double a, double b) {
  switch (op) {
#include "compare.def"
  }
  return 0;
}
#endif

// wide: the operand (0 or 1) that is the layer's constant, which is f32 whatever the blobs' storage; else -1.
LINEAR void compare(global uchar* y, long y_at, global const uchar* first, long first_at, global const uchar* second,
                    long second_at, int count, int op, int dtype, int wide, Pairs walk) {
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
    v = compare_float(op, wide == 0 ? ((global const float*)first)[a] : LOAD((global const stored*)first, a),
                      wide == 1 ? ((global const float*)second)[b] : LOAD((global const stored*)second, b));
#ifdef PLUMB_F64
  } else if (dtype == F64) {
    v = compare_double(op, ((global const double*)first)[a], ((global const double*)second)[b]);
#endif
  } else {
    v = compare_long(op, load_long(first, a, dtype), load_long(second, b, dtype));
  }
  y[y_at + i] = v;
}
