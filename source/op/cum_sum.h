// SPDX-License-Identifier: Apache-2.0
// PlumbCumSum: running sums along an axis; exclusive: without the element itself; reverse: from the end. The axis is a
// second input when there is one (a number, read when the layer runs), else the parameter.
#ifndef PLUMB_OP_CUM_SUM_H_
#define PLUMB_OP_CUM_SUM_H_

#include "op/core/op.h"

namespace plumb {

struct CumSumParam : ParamBase<CumSumParam> {
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Bool("exclusive", exclusive);
    v.Bool("reverse", reverse);
  }
};

// The axis from the parameters or the value of the second input.
Result<int> CumSumAxis(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_CUM_SUM_H_
