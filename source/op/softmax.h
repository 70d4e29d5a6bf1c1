// SPDX-License-Identifier: Apache-2.0
// Softmax: y = exp(x - m) / sum exp(x - m) along one axis, m the maximum. LogSoftmax: its logarithm.
#ifndef PLUMB_OP_SOFTMAX_H_
#define PLUMB_OP_SOFTMAX_H_

#include "op/core/op.h"

namespace plumb {

struct SoftmaxParam : ParamBase<SoftmaxParam> {
  int axis = 1;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis); }
};

}  // namespace plumb

#endif  // PLUMB_OP_SOFTMAX_H_
