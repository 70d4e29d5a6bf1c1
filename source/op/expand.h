// SPDX-License-Identifier: Apache-2.0
// Expand: NumPy broadcasting of the input to a shape (both ways: a dim of 1 or -1 in `shape` keeps the input's). The
// shape may come from a second, known integer input instead.
#ifndef PLUMB_OP_EXPAND_H_
#define PLUMB_OP_EXPAND_H_

#include "op/core/op.h"

namespace plumb {

struct ExpandParam : ParamBase<ExpandParam> {
  std::vector<int> shape;
  void Visit(ParamVisitor& v) override { v.Counted("shape", shape); }
};

}  // namespace plumb

#endif  // PLUMB_OP_EXPAND_H_
