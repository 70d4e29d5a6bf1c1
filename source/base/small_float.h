// SPDX-License-Identifier: Apache-2.0
// Floats of 8 and 4 bits, as ONNX numbers them: their values are carried in f32. A format is its sizes; "fn" has no
// infinity, "uz" no negative zero.
#ifndef PLUMB_BASE_SMALL_FLOAT_H_
#define PLUMB_BASE_SMALL_FLOAT_H_

#include <cstdint>
#include <string>

namespace plumb {

struct SmallFloat {
  const char* name;  // "e4m3fn"
  int bits;          // of one value
  int mantissa;      // bits of it
  int bias;          // of the exponent
  double largest;    // finite
  bool has_infinity;
  bool unsigned_zero;  // and the code of the negative one is the only NaN
  bool has_nan;
};

// Null when there is none of that name: e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e2m1fn.
const SmallFloat* FindSmallFloat(const std::string& name);

// The value of a code.
float DecodeSmallFloat(const SmallFloat& format, uint8_t code);

// The nearest value of the format, ties to even. Beyond the largest one: that one when saturating, else infinity or, in
// formats without, NaN (e2m1fn, which has neither, always saturates; NaN becomes 0 there).
double RoundToSmallFloat(const SmallFloat& format, double x, bool saturate);

}  // namespace plumb

#endif  // PLUMB_BASE_SMALL_FLOAT_H_
