// SPDX-License-Identifier: Apache-2.0
// Einsum: sums of products in Einstein's notation: "ij,jk->ik". Operands are separated by ';' (TNN's files have it in
// place of ',', which is accepted too); without "->" the output has the letters that occur once, in alphabetical order,
// behind the ellipsis. "..." stands for leading dims that broadcast; a letter may repeat within an operand (a
// diagonal). No spaces: they would cut the token short.
#ifndef PLUMB_OP_EINSUM_H_
#define PLUMB_OP_EINSUM_H_

#include "op/core/op.h"

namespace plumb {

struct EinsumParam : ParamBase<EinsumParam> {
  std::string equation;
  void Visit(ParamVisitor& v) override { v.Text("equation", equation, ParamVisitor::kRequired); }
};

// The loops: `out` dims first, then `sum` dims. strides[operand][loop]: how that loop walks the dense operand.
struct EinsumPlan {
  Shape out;
  std::vector<int64_t> dims;  // of all loops, the output's first
  int64_t terms = 1;          // product of the summed dims
  std::vector<std::vector<int64_t>> strides;
};

Result<EinsumPlan> PlanEinsum(const Layer& layer, const std::vector<Shape>& operands);

}  // namespace plumb

#endif  // PLUMB_OP_EINSUM_H_
