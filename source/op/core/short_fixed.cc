// SPDX-License-Identifier: Apache-2.0
#include "op/core/short_fixed.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "op/core/fixed_factor.h"

namespace plumb {
namespace {

constexpr int64_t kShortMax = 32767;  // as a fraction it stands for 1

int64_t InShort(int64_t x) { return std::clamp(x, -kShortMax - 1, kShortMax); }

// The upper 16 bits of twice the product, halves away from zero.
int64_t ShortHigh(int64_t a, int64_t b) {
  const int64_t product = a * b, nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
  return InShort((product + nudge) / (1 << 15));
}

// x 2^by: limited to 16 bits.
int64_t ShortTimesPower(int64_t x, int by) { return InShort(x * (int64_t{1} << by)); }

// A constant of 32 bits.
int64_t Shortened(int64_t constant) { return ShiftedRight(constant, 16); }

// exp(x) of a fraction in [-1 / 4, 0): Taylor's sum around -1 / 8.
int64_t ShortExpOfQuarter(int64_t fraction) {
  const int64_t at_eighth = Shortened(1895147668), third = Shortened(715827883);
  const int64_t x = fraction + (1 << 12), squared = ShortHigh(x, x);
  const int64_t cubed = ShortHigh(squared, x), fourth = ShortHigh(squared, squared);
  const int64_t terms = ShiftedRight(ShortHigh(ShiftedRight(fourth, 2) + cubed, third) + squared, 1);
  return InShort(at_eighth + ShortHigh(at_eighth, x + terms));
}

// exp(x) of x <= 0 with so many bits in front of the point, as a fraction.
int64_t ShortExp(int64_t x, int integer_bits) {
  if (x == 0) return kShortMax;
  const int bits = 15 - integer_bits;
  const int64_t quarter = int64_t{1} << (bits - 2);
  const int64_t within = (x & (quarter - 1)) - quarter, rest = within - x;
  int64_t result = ShortExpOfQuarter(ShortTimesPower(within, integer_bits));
  int exponent = -2;
  // exp(-1 / 4), exp(-1 / 2) ... exp(-16).
  for (const int64_t power : {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242}) {
    if (integer_bits > exponent && (rest & (int64_t{1} << (bits + exponent))) != 0)
      result = ShortHigh(result, Shortened(power));
    ++exponent;
  }
  constexpr int kLeastLimited = 6;  // integer bits, from which on x may be less than -32
  return integer_bits >= kLeastLimited && x < -(int64_t{32} << bits) ? 0 : result;
}

// 1 / ((1 + x) / 2) of a fraction: Newton's steps, with 2 bits in front of the point.
int64_t InverseOfHalfSum(int64_t x) {
  const int64_t half = (x + kShortMax + 1) / 2;
  int64_t inverse = Shortened(1515870810) + ShortHigh(half, Shortened(-1010580540));  // 48 / 17 - 32 / 17 half
  constexpr int64_t kOne = 1 << 13;
  for (int step = 0; step < 3; ++step)
    inverse += ShortTimesPower(ShortHigh(inverse, kOne - ShortHigh(half, inverse)), 2);
  return inverse;
}

}  // namespace

int64_t ShortSigmoid(int64_t x) {
  if (x == 0) return 1 << 14;
  const int64_t below = std::max(x > 0 ? -x : x, -kShortMax - 1);
  const int64_t of_positive = ShortTimesPower(InverseOfHalfSum(ShortExp(below, 3)), 1);
  return x > 0 ? of_positive : kShortMax - of_positive;
}

int64_t ShortTanh(int64_t x, int integer_bits) {
  if (x == 0) return 0;
  constexpr int64_t kOne = 1 << 13;
  // The same number with its point moved is twice as large.
  const int64_t inverse = InverseOfHalfSum(ShortExp(x > 0 ? -x : x, integer_bits + 1));
  const int64_t of_positive = ShortTimesPower(inverse - kOne, 2);
  return x > 0 ? of_positive : -of_positive;
}

ShortTable::ShortTable(double low, double high, double (*function)(double)) {
  constexpr double kOne = 32768;
  const double step = (high - low) / 512;
  const auto whole = [&](double x) { return std::round(function(x) * kOne); };
  for (int i = 0; i <= 512; ++i) {
    const double x = low + i * step, value = whole(x);
    const double between = std::round((function(x + step) * kOne + value) / 2);
    // Half of what the line is off by in the middle of the piece.
    const double bias = i == 512 ? 0 : std::round((between - whole(x + step / 2)) / 2);
    table_[i] = static_cast<int64_t>(std::clamp(value - bias, -32768.0, 32767.0));
  }
}

int64_t ShortTable::Of(int64_t x, bool lines, int entry) const {
  const int64_t at = InShort(x), piece = std::clamp<int64_t>(256 + (at >> 7) + entry, 0, 511);
  return table_[piece] + (lines ? ((table_[piece + 1] - table_[piece]) * (at & 127) + 64) >> 7 : 0);
}

}  // namespace plumb
