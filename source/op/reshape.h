// SPDX-License-Identifier: Apache-2.0
// Reshape: the same elements under another shape. dim 0 copies the input's, one -1 is inferred; axis and num_axes keep
// the dims before axis and behind axis + num_axes. reshape_type 1 reads and writes the elements in NHWC order. With no
// dims and a second, constant integer input the shape comes from that.
#ifndef PLUMB_OP_RESHAPE_H_
#define PLUMB_OP_RESHAPE_H_

#include "op/core/op.h"

namespace plumb {

struct ReshapeParam : ParamBase<ReshapeParam> {
  int axis = 0;
  int num_axes = 0;
  std::vector<int> shape;
  int reshape_type = 0;  // 0 NCHW order, 1 NHWC order
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Int("num_axes", num_axes);
    v.Counted("shape", shape, ParamVisitor::kRequired);
    v.Int("reshape_type", reshape_type);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_RESHAPE_H_
