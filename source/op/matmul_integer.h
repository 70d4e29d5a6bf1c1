// SPDX-License-Identifier: Apache-2.0
// PlumbMatMulInteger: (A - a_zero_point) x (B - b_zero_point) of integers, as i32 that wraps around; dims as in MatMul.
// Inputs A, B, then the zero points that the flags announce: one number, or one per row of A, per column of B.
#ifndef PLUMB_OP_MATMUL_INTEGER_H_
#define PLUMB_OP_MATMUL_INTEGER_H_

#include "op/core/op.h"

namespace plumb {

struct MatMulIntegerParam : ParamBase<MatMulIntegerParam> {
  bool has_a_zero_point = false;
  bool has_b_zero_point = false;
  void Visit(ParamVisitor& v) override {
    v.Bool("has_a_zero_point", has_a_zero_point);
    v.Bool("has_b_zero_point", has_b_zero_point);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_MATMUL_INTEGER_H_
