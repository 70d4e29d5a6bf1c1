// SPDX-License-Identifier: Apache-2.0
// PReLU: y = x < 0 ? slope[c] * x : x, the slope per channel (dim 1) or one for all.
// How many slopes there are decides; channel_shared is what TNN's file says about it and what the generator follows.
#ifndef PLUMB_OP_PRELU_H_
#define PLUMB_OP_PRELU_H_

#include "op/core/op.h"

namespace plumb {

struct PReLUParam : ParamBase<PReLUParam> {
  int channel_shared = 0;
  int has_filler = 1;  // read and written, without meaning
  void Visit(ParamVisitor& v) override {
    v.Int("channel_shared", channel_shared);
    v.Int("has_filler", has_filler);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_PRELU_H_
