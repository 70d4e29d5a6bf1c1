// SPDX-License-Identifier: Apache-2.0
// PlumbIsNaN, PlumbIsInf: which elements of a float blob are NaN, or infinite with the signs asked for; bool.
#ifndef PLUMB_OP_CLASSIFY_H_
#define PLUMB_OP_CLASSIFY_H_

#include "op/core/op.h"

namespace plumb {

struct IsInfParam : ParamBase<IsInfParam> {
  bool detect_negative = true;
  bool detect_positive = true;
  void Visit(ParamVisitor& v) override {
    v.Bool("detect_negative", detect_negative);
    v.Bool("detect_positive", detect_positive);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_CLASSIFY_H_
