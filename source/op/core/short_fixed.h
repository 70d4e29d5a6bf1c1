// SPDX-License-Identifier: Apache-2.0
// Functions of fixed-point numbers of 16 bits as gemmlowp computes them, for the LSTMs of TFLite; and by tables.
#ifndef PLUMB_OP_CORE_SHORT_FIXED_H_
#define PLUMB_OP_CORE_SHORT_FIXED_H_

#include <cstdint>

namespace plumb {

// 1 / (1 + exp(-x)) of x with 3 bits in front of the point, as a fraction of 15 bits.
int64_t ShortSigmoid(int64_t x);

// tanh(x) of x with `integer_bits` in front of the point, 0 to 6, as a fraction of 15 bits.
int64_t ShortTanh(int64_t x, int integer_bits);

// A function from [low, high] to fractions of 15 bits, in 512 pieces between which lies a straight line.
class ShortTable {
 public:
  ShortTable(double low, double high, double (*function)(double));
  // Of x of 16 bits, whose ends are those of the range; without `lines` of a piece's beginning, `entry` pieces on.
  int64_t Of(int64_t x, bool lines = true, int entry = 0) const;

 private:
  int64_t table_[513];
};

}  // namespace plumb

#endif  // PLUMB_OP_CORE_SHORT_FIXED_H_
