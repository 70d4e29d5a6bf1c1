// SPDX-License-Identifier: Apache-2.0
// StridedSlice: elements begin, begin + stride, ... before end, per dim. A negative begin or end counts from the back.
//   StridedSlice    one entry per dim, strides above 0, end 0 is the end of the axis; with a second input the result
//   has
//                   that blob's shape (begin + dim is the end).
//   StridedSliceV2  only the dims in `axes` (none named: the first ones; strides missing: 1); negative strides walk
//   back;
//                   begin and end outside the blob are cut to it, so INT_MAX is behind the last element and, with a
//                   negative stride, INT_MIN before the first. Begins and ends may come from known integer inputs 1
//                   and 2.
#ifndef PLUMB_OP_STRIDED_SLICE_H_
#define PLUMB_OP_STRIDED_SLICE_H_

#include "op/core/op.h"

namespace plumb {

struct StridedSliceParam : ParamBase<StridedSliceParam> {
  std::vector<int> begins, ends, strides;
  void Visit(ParamVisitor& v) override {
    v.Counted("begins", begins, ParamVisitor::kRequired);
    v.Counted("ends", ends, ParamVisitor::kRequired);
    v.Counted("strides", strides, ParamVisitor::kRequired);
  }
};

struct StridedSliceV2Param : ParamBase<StridedSliceV2Param> {
  std::vector<int> begins, ends, axes, strides;
  void Visit(ParamVisitor& v) override {
    v.Counted("begins", begins, ParamVisitor::kRequired);
    v.Counted("ends", ends, ParamVisitor::kRequired);
    v.Counted("axes", axes, ParamVisitor::kRequired);
    v.Counted("strides", strides, ParamVisitor::kRequired);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_STRIDED_SLICE_H_
