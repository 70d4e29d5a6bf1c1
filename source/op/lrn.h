// SPDX-License-Identifier: Apache-2.0
// LRN across channels: y = x / (bias + alpha / size * sum of x^2 over the window)^beta. The window of channel c is
// [c - floor((size - 1) / 2), c + ceil((size - 1) / 2)], as ONNX has it; TNN's naive kernel takes (size - 1) / 2 on
// both sides, one channel less for even sizes.
#ifndef PLUMB_OP_LRN_H_
#define PLUMB_OP_LRN_H_

#include "op/core/op.h"

namespace plumb {

struct LrnParam : ParamBase<LrnParam> {
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;
  int size = 5;
  void Visit(ParamVisitor& v) override {
    v.Float("alpha", alpha, ParamVisitor::kRequired);
    v.Float("beta", beta, ParamVisitor::kRequired);
    v.Float("bias", bias, ParamVisitor::kRequired);
    v.Int("size", size, ParamVisitor::kRequired);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_LRN_H_
