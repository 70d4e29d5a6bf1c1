// SPDX-License-Identifier: Apache-2.0
// Flatten: 2-D; the dims before `axis` are one, the dims from it on the other.
#ifndef PLUMB_OP_FLATTEN_H_
#define PLUMB_OP_FLATTEN_H_

#include "op/core/op.h"

namespace plumb {

struct FlattenParam : ParamBase<FlattenParam> {
  int axis = 1;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis, ParamVisitor::kRequired); }
};

}  // namespace plumb

#endif  // PLUMB_OP_FLATTEN_H_
