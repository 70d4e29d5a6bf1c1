// SPDX-License-Identifier: Apache-2.0
// Binary element-wise operators with NumPy broadcasting. With one input the other operand is the layer's resource
// "element"; weight_input_index says which operand the constant is (0 or 1). Operands are float, i32 or i64, both
// alike. PlumbPow (base, exponent) has no TNN type: TNN knows only Power, whose exponent is a parameter. As a type of
// ours it has neither parameters nor resources; a constant operand is a constant of the graph. PlumbMod: the remainder
// with the sign of the divisor; PlumbFmod: with the sign of the dividend; of integers, x mod 0 is 0.
#ifndef PLUMB_OP_BINARY_H_
#define PLUMB_OP_BINARY_H_

#include "op/core/op.h"

namespace plumb {

struct BinaryParam : ParamBase<BinaryParam> {
  int weight_input_index = 1;
  void Visit(ParamVisitor& v) override { v.Int("weight_input_index", weight_input_index); }
};

// The shape under which a constant operand broadcasts against `input`. A constant with dims of its own keeps them when
// they broadcast; TNN's rule for a bare count otherwise: 1 scalar; dims[1] per channel; product from 1 full; dims[3] of
// a 4-D input per column; product from 2 per position (checked in that order).
Result<Shape> ConstantOperandShape(const Tensor& element, const Shape& input);

}  // namespace plumb

#endif  // PLUMB_OP_BINARY_H_
