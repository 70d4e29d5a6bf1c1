// SPDX-License-Identifier: Apache-2.0
// Real factors as TFLite's kernels have them: 31 bits and a shift; and the ways in which a product with one is rounded.
#ifndef PLUMB_OP_CORE_FIXED_FACTOR_H_
#define PLUMB_OP_CORE_FIXED_FACTOR_H_

#include <cstdint>

namespace plumb {

constexpr int64_t kInt32Max = 2147483647;
constexpr double kLargestSum = 0x1p52;  // that f64 holds exactly

// A real factor: multiplier * 2^(shift - 31).
struct FixedFactor {
  int64_t multiplier = 0;
  int shift = 0;
  bool valid = false;
};

FixedFactor FixedFactorOf(double real);

// The upper 32 bits of twice the product of two numbers of 32 bits, halves away from zero.
int64_t HighOfProduct(int64_t a, int64_t b);

// x / 2^by, halves away from zero.
int64_t ShiftedRight(int64_t x, int by);

// False: beyond 32 bits.
using Multiply = bool (*)(int64_t x, const FixedFactor& factor, int64_t* result);

bool RoundedTwice(int64_t x, const FixedFactor& factor, int64_t* result);
// Both times halves up, as ruy's kernels do it.
bool RoundedUpTwice(int64_t x, const FixedFactor& factor, int64_t* result);
// Of sums of 48 bits: a factor of 15 bits, halves up.
bool RoundedByFifteenBits(int64_t x, const FixedFactor& factor, int64_t* result);
bool RoundedOnce(int64_t x, const FixedFactor& factor, int64_t* result);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_FIXED_FACTOR_H_
