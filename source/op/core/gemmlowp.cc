// SPDX-License-Identifier: Apache-2.0
#include "op/core/gemmlowp.h"

#include <algorithm>
#include <initializer_list>

namespace plumb {
namespace {

constexpr int64_t kOneFraction = kInt32Max;  // the largest fraction stands for 1

int64_t In32Bits(int64_t x) { return std::clamp(x, -kInt32Max - 1, kInt32Max); }

// x 2^by: limited to 32 bits, or rounded.
int64_t TimesPowerOfTwo(int64_t x, int by) { return by >= 0 ? In32Bits(x * (int64_t{1} << by)) : ShiftedRight(x, -by); }

// (a + b) / 2, halves away from zero.
int64_t HalfSum(int64_t a, int64_t b) {
  const int64_t sum = a + b;
  return (sum + (sum >= 0 ? 1 : -1)) / 2;
}

// Of 32 bits, of x >= 0.
int LeadingZeros(int64_t x) {
  int zeros = 32;
  for (; x > 0; x >>= 1) --zeros;
  return zeros;
}

// exp(x) of a fraction in [-1 / 4, 0): Taylor's sum around -1 / 8.
int64_t ExpOfQuarter(int64_t fraction) {
  constexpr int64_t kExpOfMinusEighth = 1895147668, kThird = 715827883;
  const int64_t x = fraction + (int64_t{1} << 28), squared = HighOfProduct(x, x);
  const int64_t cubed = HighOfProduct(squared, x), fourth = HighOfProduct(squared, squared);
  const int64_t terms = ShiftedRight(HighOfProduct(ShiftedRight(fourth, 2) + cubed, kThird) + squared, 1);
  return kExpOfMinusEighth + HighOfProduct(kExpOfMinusEighth, x + terms);
}

// 1 / (1 + x) of a fraction in [0, 1): Newton's steps, with 2 bits in front of the point.
int64_t InverseOfOneAnd(int64_t x) {
  constexpr int64_t k48By17 = 1515870810, kMinus32By17 = -1010580540, kOne = int64_t{1} << 29;
  const int64_t half = HalfSum(x, kOneFraction);
  int64_t inverse = k48By17 + HighOfProduct(half, kMinus32By17);
  for (int step = 0; step < 3; ++step)
    inverse += TimesPowerOfTwo(HighOfProduct(inverse, kOne - HighOfProduct(half, inverse)), 2);
  return TimesPowerOfTwo(ShiftedRight(inverse, 1), 2);
}

}  // namespace

int64_t ExpBelowZero(int64_t x) {
  constexpr int kIntegerBits = 5, kBits = 31 - kIntegerBits;
  if (x == 0) return kOneFraction;
  constexpr int64_t kQuarter = int64_t{1} << (kBits - 2);
  const int64_t within = (x & (kQuarter - 1)) - kQuarter, rest = within - x;
  int64_t result = ExpOfQuarter(TimesPowerOfTwo(within, kIntegerBits));
  int exponent = -2;
  // exp(-1 / 4), exp(-1 / 2) ... exp(-16) as fractions.
  for (const int64_t power : {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242}) {
    if ((rest & (int64_t{1} << (kBits + exponent))) != 0) result = HighOfProduct(result, power);
    ++exponent;
  }
  return result;
}

FixedReciprocal FixedReciprocalOf(int64_t x, int integer_bits) {
  const int zeros = LeadingZeros(x);
  return {InverseOfOneAnd(x * (int64_t{1} << zeros) - (int64_t{1} << 31)), integer_bits - zeros};
}

int64_t FixedLogOf(int64_t x) {
  constexpr int kInput = 12, kOutput = 5, kAccumulated = kOutput + 1;
  // log 2, the fourth root and the root of 1 / 2, and the coefficients of the rational function between.
  constexpr int64_t kLog2 = 1488522236, kFourthRoot = 1805811301, kRoot = 1518500250;
  constexpr int64_t kAlphaN = 117049297, kAlphaD = 127690142, kAlphaI = 1057819769, kAlphaF = 638450708;
  const int64_t quarter = ShiftedRight(int64_t{1} << 29, kAccumulated);
  const auto power_of_two = [&](int bits) { return TimesPowerOfTwo(bits, 31 - kAccumulated); };
  // Once as it is, once times the root of 1 / 2: the remainder of one is near the fourth root.
  const int zeros = LeadingZeros(x);
  const int64_t first = TimesPowerOfTwo(HighOfProduct(TimesPowerOfTwo(x, zeros - 1), kRoot), 1);
  const int64_t power_of_first = In32Bits(power_of_two(kInput - zeros) + quarter);
  const int zeros_of_second = LeadingZeros(HighOfProduct(x, kRoot)) - 1;
  const int64_t second = TimesPowerOfTwo(x, zeros_of_second);
  const int64_t power_of_second = In32Bits(power_of_two(kInput - zeros_of_second) - quarter);
  const int64_t rest = std::min(first, second), power = std::max(power_of_first, power_of_second);
  const int64_t middle = HalfSum(rest, kFourthRoot), off = 2 * (rest - kFourthRoot);
  const int64_t squared = HighOfProduct(off, off);
  const int64_t above = HighOfProduct(off, rest) + HighOfProduct(HighOfProduct(off, squared), kAlphaN);
  const int64_t below =
      HighOfProduct(middle, kAlphaI + off + HighOfProduct(kAlphaD, squared)) + HighOfProduct(kAlphaF, off);
  const int64_t ratio = HighOfProduct(ShiftedRight(above, kAccumulated), InverseOfOneAnd(below));
  return TimesPowerOfTwo(HighOfProduct(power, kLog2) + ratio, kAccumulated - kOutput);
}

FixedFactor InverseRootOf(int64_t x) {
  if (x <= 1) return {kInt32Max, 0, true};
  int right = 11;
  for (; x >= int64_t{1} << 29; x /= 4) ++right;
  const int pairs = (LeadingZeros(x) - 1) / 2 - 1;
  right -= pairs;
  x *= int64_t{1} << (2 * pairs);
  // Newton's steps on x / 2 with 3 bits in front of the point, from 1.
  constexpr int64_t kOneAndHalf = (int64_t{1} << 28) + (int64_t{1} << 27), kRoot = 1518500250;
  const int64_t half = ShiftedRight(x >> 1, 1);
  int64_t root = int64_t{1} << 28;
  for (int step = 0; step < 5; ++step) {
    const int64_t cubed = TimesPowerOfTwo(HighOfProduct(HighOfProduct(root, root), root), 6);
    root = TimesPowerOfTwo(HighOfProduct(kOneAndHalf, root) - HighOfProduct(half, cubed), 3);
  }
  root = HighOfProduct(root, kRoot);
  if (right < 0) root *= int64_t{1} << -right, right = 0;
  return {root, -right, true};
}

}  // namespace plumb
