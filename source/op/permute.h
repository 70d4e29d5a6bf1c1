// SPDX-License-Identifier: Apache-2.0
// Permute: dim i of the output is dim orders[i] of the input. Dims that `orders` leaves out follow in ascending order.
#ifndef PLUMB_OP_PERMUTE_H_
#define PLUMB_OP_PERMUTE_H_

#include "op/core/op.h"

namespace plumb {

struct PermuteParam : ParamBase<PermuteParam> {
  std::vector<int> orders;
  void Visit(ParamVisitor& v) override { v.Counted("orders", orders, ParamVisitor::kRequired); }
};

}  // namespace plumb

#endif  // PLUMB_OP_PERMUTE_H_
