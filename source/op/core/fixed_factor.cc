// SPDX-License-Identifier: Apache-2.0
#include "op/core/fixed_factor.h"

#include <algorithm>
#include <cmath>

namespace plumb {

int64_t HighOfProduct(int64_t a, int64_t b) {
  const int64_t product = a * b, nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return (product + nudge) / (int64_t{1} << 31);
}

FixedFactor FixedFactorOf(double real) {
  FixedFactor factor;
  if (!(real > 0 && real < 0x1p30)) return factor;
  factor.valid = true;
  const double fraction = std::frexp(real, &factor.shift);
  factor.multiplier = static_cast<int64_t>(std::round(fraction * 0x1p31));
  if (factor.multiplier == int64_t{1} << 31) factor.multiplier /= 2, ++factor.shift;
  if (factor.shift < -31) factor.multiplier = 0, factor.shift = 0;
  return factor;
}

int64_t ShiftedRight(int64_t x, int by) {
  const int64_t mask = (int64_t{1} << by) - 1, rest = x & mask, most = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> by) + (rest > most ? 1 : 0);
}

bool RoundedTwice(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || std::abs(x) > kInt32Max) return false;
  const int left = std::max(0, factor.shift), right = std::max(0, -factor.shift);
  const int64_t shifted = x * (int64_t{1} << left);  // at most 31 + 30 bits
  if (std::abs(shifted) > kInt32Max) return false;
  *result = ShiftedRight(HighOfProduct(shifted, factor.multiplier), right);
  return true;
}

bool RoundedUpTwice(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || std::abs(x) > kInt32Max) return false;
  const int left = std::max(0, factor.shift), right = std::max(0, -factor.shift);
  const int64_t shifted = x * (int64_t{1} << left);  // at most 31 + 30 bits
  if (std::abs(shifted) > kInt32Max) return false;
  const int64_t high = (shifted * factor.multiplier + (int64_t{1} << 30)) >> 31;
  *result = right == 0 ? high : (high + (int64_t{1} << (right - 1))) >> right;
  return true;
}

bool RoundedByFifteenBits(int64_t x, const FixedFactor& factor, int64_t* result) {
  constexpr int64_t kLargest = int64_t{1} << 47;
  const int shift = 15 - factor.shift;
  if (!factor.valid || std::abs(x) >= kLargest || shift < 1 || shift > 62) return false;
  const int64_t reduced = factor.multiplier < 0x7FFF0000 ? (factor.multiplier + (1 << 15)) >> 16 : 0x7FFF;
  *result = (x * reduced + (int64_t{1} << (shift - 1))) >> shift;
  return std::abs(*result) <= kInt32Max;
}

bool RoundedOnce(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || std::abs(x) > kInt32Max) return false;
  const int shift = 31 - factor.shift;  // 1 to 62
  const int64_t product = x * factor.multiplier, half = int64_t{1} << (shift - 1);
  if (product > INT64_MAX - half) return false;
  *result = (product + half) >> shift;
  return std::abs(*result) <= kInt32Max;
}

}  // namespace plumb
