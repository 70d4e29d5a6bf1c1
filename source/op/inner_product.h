// SPDX-License-Identifier: Apache-2.0
// InnerProduct: y[n, o] = bias[o] + sum over k of w[o, k] * x[n, k], x flattened from `axis`. Weights [num_output][K].
// TNN stores `transpose` and no device of its reads it: weights are [num_output][K] whatever it says (densenet has 1).
// It is kept for writing and otherwise ignored here too.
#ifndef PLUMB_OP_INNER_PRODUCT_H_
#define PLUMB_OP_INNER_PRODUCT_H_

#include "op/core/op.h"

namespace plumb {

struct InnerProductParam : ParamBase<InnerProductParam> {
  int num_output = 0;
  bool has_bias = false;
  int transpose = 0;
  int axis = 1;
  void Visit(ParamVisitor& v) override {
    v.Int("num_output", num_output, ParamVisitor::kRequired);
    v.Bool("has_bias", has_bias, ParamVisitor::kRequired);
    v.Int("transpose", transpose, ParamVisitor::kRequired);
    v.Int("axis", axis, ParamVisitor::kRequired);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_INNER_PRODUCT_H_
