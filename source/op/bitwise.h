// SPDX-License-Identifier: Apache-2.0
// The rows of op/bitwise.def and PlumbBitShift: bit by bit on i32, i64 or bool,
// with NumPy broadcasting. PlumbBitShift moves the bits of the first operand by the second; a shift of the dtype's
// width or more gives 0, right shifts fill with zeros (ONNX shifts unsigned integers only: they arrive here as i64, and
// whoever narrows them wraps them around afterwards). TNN's BitShift has its distance as a parameter.
#ifndef PLUMB_OP_BITWISE_H_
#define PLUMB_OP_BITWISE_H_

#include "op/core/op.h"

namespace plumb {

struct BitShiftParam : ParamBase<BitShiftParam> {
  bool left = false;  // TNN's direction: 0 right, 1 left
  void Visit(ParamVisitor& v) override { v.Bool("left", left, ParamVisitor::kRequired); }
};

// The row of op/bitwise.def, by which the GPU programs know it; for PlumbBitShift the number of rows.
int BitwiseRow(OpKind kind);

}  // namespace plumb

#endif  // PLUMB_OP_BITWISE_H_
