// SPDX-License-Identifier: Apache-2.0
// ArgMaxOrMin: the index of the largest (mode 1) or smallest (mode 0) element along an axis, as i32.
// Of equal elements the first, or the last with select_last_index (TNN's naive kernel ignores the flag and always takes
// the first). A NaN wins over every number, as in NumPy.
#ifndef PLUMB_OP_ARG_MAX_H_
#define PLUMB_OP_ARG_MAX_H_

#include "op/core/op.h"

namespace plumb {

struct ArgMaxParam : ParamBase<ArgMaxParam> {
  int mode = 1;
  int axis = 0;
  bool keep_dims = true;
  bool select_last_index = false;
  void Visit(ParamVisitor& v) override {
    v.Int("mode", mode);
    v.Int("axis", axis);
    v.Bool("keep_dims", keep_dims);
    v.Bool("select_last_index", select_last_index);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_ARG_MAX_H_
