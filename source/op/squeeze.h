// SPDX-License-Identifier: Apache-2.0
// Squeeze: removes the dims of 1 that `axes` names (none named: nothing, as TNN does). Unsqueeze: inserts dims of 1 so
// that they stand at `axes` of the output. Negative axes count from the end (of the output for Unsqueeze).
#ifndef PLUMB_OP_SQUEEZE_H_
#define PLUMB_OP_SQUEEZE_H_

#include "op/core/op.h"

namespace plumb {

struct SqueezeParam : ParamBase<SqueezeParam> {
  std::vector<int> axes;
  void Visit(ParamVisitor& v) override { v.Counted("axes", axes); }
};

}  // namespace plumb

#endif  // PLUMB_OP_SQUEEZE_H_
