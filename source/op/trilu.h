// SPDX-License-Identifier: Apache-2.0
// PlumbTrilu: the upper (or lower) triangle of the last two dims, 0 elsewhere; k moves the diagonal to the right. k is
// a second input when there is one (read when the layer runs), else the parameter. PlumbEyeLike: 1 on the k-th diagonal
// of a matrix shaped like the input, 0 elsewhere, in the dtype named ("like": the input's).
#ifndef PLUMB_OP_TRILU_H_
#define PLUMB_OP_TRILU_H_

#include "op/core/op.h"

namespace plumb {

struct TriluParam : ParamBase<TriluParam> {
  bool upper = true;
  int k = 0;
  void Visit(ParamVisitor& v) override {
    v.Bool("upper", upper);
    v.Int("k", k);
  }
};

struct EyeLikeParam : ParamBase<EyeLikeParam> {
  int k = 0;
  std::string dtype = "like";
  void Visit(ParamVisitor& v) override {
    v.Int("k", k);
    v.Text("dtype", dtype);
  }
};

// Whether element (row, column) is kept.
inline bool InTriangle(bool upper, int64_t k, int64_t row, int64_t column) {
  return upper ? column - row >= k : column - row <= k;
}

}  // namespace plumb

#endif  // PLUMB_OP_TRILU_H_
