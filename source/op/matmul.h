// SPDX-License-Identifier: Apache-2.0
// MatMul: the matrix product of the last two dims, the others broadcast as in NumPy; an operand of rank 1 is a row
// (first) or a column (second) and loses that dim in the result. One input: the other operand is the resource "weight",
// at weight_position.
#ifndef PLUMB_OP_MATMUL_H_
#define PLUMB_OP_MATMUL_H_

#include "op/core/op.h"

namespace plumb {

struct MatMulParam : ParamBase<MatMulParam> {
  int weight_position = -1;  // which operand is the constant; -1: both are blobs
  // Of an imported operator that says how it sums: the sum is rounded to f16 behind each term (ggml's attention over
  // values of f16). In no file, and nothing that a device follows: the bound asks.
  bool sums_in_f16 = false;
  void Visit(ParamVisitor& v) override { v.Int("weight_position", weight_position); }
};

// y[b] (m x n) = first[first_matrix(b)] (m x k) * second[second_matrix(b)] (k x n) for every matrix b of the output.
struct MatMulShape {
  int64_t m = 1, k = 1, n = 1;
  Shape output;
  std::vector<int64_t> first_matrix, second_matrix;  // per output matrix, which matrix of the operand
};

// The operands' shapes in order; inputs are the layer's blobs.
struct MatMulOperands {
  Shape first, second;
};
Result<MatMulOperands> OperandsOfMatMul(const Layer& layer, const std::vector<Shape>& inputs);
Result<MatMulShape> ResolveMatMul(const Shape& first, const Shape& second);

}  // namespace plumb

#endif  // PLUMB_OP_MATMUL_H_
