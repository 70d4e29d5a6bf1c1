// SPDX-License-Identifier: Apache-2.0
// Equal, Greater, Less: a op b with NumPy broadcasting, as bool (TNN: int8). And, Not: the same for truth, anything but
// 0 being true. With one input (not Equal) the other operand is the layer's resource "element", as in op/binary.h. NaN
// compares false. PlumbGreaterOrEqual, PlumbLessOrEqual, PlumbOr, PlumbXor always have two inputs.
#ifndef PLUMB_OP_COMPARE_H_
#define PLUMB_OP_COMPARE_H_

#include "op/binary.h"

namespace plumb {

// The two operands, in order, of one dtype; `value` where they are known.
struct CompareOperands {
  BlobInfo a, b;
  Shape out;
};

// `inputs` carry their values when the layer runs. A resource is converted to the input's dtype.
Result<CompareOperands> ResolveCompare(const Layer& layer, const std::vector<BlobInfo>& inputs);

// The row of op/compare.def: the number by which the GPU kernels know the comparison. REQUIRES: it is one.
int CompareRow(OpKind kind);

}  // namespace plumb

#endif  // PLUMB_OP_COMPARE_H_
