// SPDX-License-Identifier: Apache-2.0
// Functions of fixed-point numbers as gemmlowp computes them: 32 bits, of which so many stand in front of the point.
// Numbers of 31 bits behind it are called fractions.
#ifndef PLUMB_OP_CORE_GEMMLOWP_H_
#define PLUMB_OP_CORE_GEMMLOWP_H_

#include "op/core/fixed_factor.h"

namespace plumb {

// exp(x) of x <= 0 with 5 bits in front of the point: a fraction.
int64_t ExpBelowZero(int64_t x);

// 1 / x of x > 0 with `integer_bits` in front of the point: fraction / 2^bits.
struct FixedReciprocal {
  int64_t fraction = 0;
  int bits = 0;
};
FixedReciprocal FixedReciprocalOf(int64_t x, int integer_bits);

// log(x) of x >= 1 with 12 bits in front of the point: 5 bits in front.
int64_t FixedLogOf(int64_t x);

// 1 / sqrt(x) of a whole number in [0, 2^31).
FixedFactor InverseRootOf(int64_t x);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_GEMMLOWP_H_
