// SPDX-License-Identifier: Apache-2.0
// SplitV: cuts the input along one axis into pieces of the given sizes, one per output; no sizes: equal pieces.
#ifndef PLUMB_OP_SPLIT_V_H_
#define PLUMB_OP_SPLIT_V_H_

#include "op/core/op.h"

namespace plumb {

struct SplitVParam : ParamBase<SplitVParam> {
  int axis = 0;
  std::vector<int> slices;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Counted("slices", slices);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_SPLIT_V_H_
