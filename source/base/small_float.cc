// SPDX-License-Identifier: Apache-2.0
#include "base/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumb {
namespace {

constexpr SmallFloat kFormats[] = {
    {"e4m3fn", 8, 3, 7, 448, false, false, true}, {"e4m3fnuz", 8, 3, 8, 240, false, true, true},
    {"e5m2", 8, 2, 15, 57344, true, false, true}, {"e5m2fnuz", 8, 2, 16, 57344, false, true, true},
    {"e2m1fn", 4, 1, 1, 6, false, false, false},
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

const SmallFloat* FindSmallFloat(const std::string& name) {
  for (const SmallFloat& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

float DecodeSmallFloat(const SmallFloat& format, uint8_t code) {
  const int sign_bit = 1 << (format.bits - 1), magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  if (format.unsigned_zero && negative && magnitude == 0) return static_cast<float>(kNan);
  const int exponent = magnitude >> format.mantissa, fraction = magnitude & ((1 << format.mantissa) - 1);
  const double value = exponent == 0
                           ? std::ldexp(fraction, 1 - format.bias - format.mantissa)
                           : std::ldexp(fraction + (1 << format.mantissa), exponent - format.bias - format.mantissa);
  if (value > format.largest) {
    if (!format.has_infinity || fraction != 0) return static_cast<float>(kNan);
    return static_cast<float>(negative ? -kInfinity : kInfinity);
  }
  return static_cast<float>(negative ? -value : value);
}

double RoundToSmallFloat(const SmallFloat& format, double x, bool saturate) {
  if (std::isnan(x)) return format.has_nan ? x : 0;
  double y = x;
  if (std::isfinite(x)) {
    int exponent = 0;
    std::frexp(x, &exponent);
    const int step = std::max(exponent - 1, 1 - format.bias) - format.mantissa;
    y = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  }
  if (std::fabs(y) > format.largest) {
    if (saturate || !format.has_nan) return std::copysign(format.largest, y);
    return format.has_infinity ? std::copysign(kInfinity, y) : kNan;
  }
  return y == 0 && format.unsigned_zero ? 0 : y;
}

}  // namespace plumb
