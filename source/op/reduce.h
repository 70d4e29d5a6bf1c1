// SPDX-License-Identifier: Apache-2.0
// The reductions of op/reduce.def over any axes; no axis means all. Some carry i32 and i64 too (wrapping around). Of
// nothing Sum is 0, Prod 1, Max -infinity, Min infinity, Mean NaN. LogSumExp is shifted by the maximum, so it does not
// overflow.
#ifndef PLUMB_OP_REDUCE_H_
#define PLUMB_OP_REDUCE_H_

#include "op/core/op.h"

namespace plumb {

struct ReduceParam : ParamBase<ReduceParam> {
  bool keep_dims = false;
  std::vector<int> axes;
  void Visit(ParamVisitor& v) override {
    v.Bool("keep_dims", keep_dims, ParamVisitor::kRequired);
    v.Rest("axes", axes);
  }
};

// For each dim whether it is reduced.
Result<std::vector<bool>> ReducedDims(const ReduceParam& param, int rank);

// Whether i32 and i64 are reduced, too. REQUIRES: a row of op/reduce.def.
bool ReducesWhole(OpKind kind);

}  // namespace plumb

#endif  // PLUMB_OP_REDUCE_H_
