// SPDX-License-Identifier: Apache-2.0
// Concat: joins blobs along one axis.
#ifndef PLUMB_OP_CONCAT_H_
#define PLUMB_OP_CONCAT_H_

#include "op/core/op.h"

namespace plumb {

struct ConcatParam : ParamBase<ConcatParam> {
  int axis = 1;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis); }
};

}  // namespace plumb

#endif  // PLUMB_OP_CONCAT_H_
