// SPDX-License-Identifier: Apache-2.0
// PlumbHardmax: 1 at the first largest element along an axis, else 0. A NaN counts as larger than every number.
#ifndef PLUMB_OP_HARDMAX_H_
#define PLUMB_OP_HARDMAX_H_

#include "op/core/op.h"

namespace plumb {

struct HardmaxParam : ParamBase<HardmaxParam> {
  int axis = -1;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis); }
};

}  // namespace plumb

#endif  // PLUMB_OP_HARDMAX_H_
