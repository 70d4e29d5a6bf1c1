// SPDX-License-Identifier: Apache-2.0
// Functions of fixed-point numbers of 16 bits as gemmlowp computes them, for the LSTMs of TFLite.
#ifndef PLUMB_OP_CORE_SHORT_FIXED_H_
#define PLUMB_OP_CORE_SHORT_FIXED_H_

#include <cstdint>

namespace plumb {

// 1 / (1 + exp(-x)) of x with 3 bits in front of the point, as a fraction of 15 bits.
int64_t ShortSigmoid(int64_t x);

// tanh(x) of x with `integer_bits` in front of the point, 0 to 6, as a fraction of 15 bits.
int64_t ShortTanh(int64_t x, int integer_bits);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_SHORT_FIXED_H_
