// SPDX-License-Identifier: Apache-2.0
// PlumbRoundFloat: each value rounded to the nearest one of a small format (base/small_float.h: e4m3fn, e4m3fnuz, e5m2,
// e5m2fnuz, e2m1fn), ties to even, in the blob's own dtype. Beyond the largest: that one when saturating, else infinity
// or NaN.
#ifndef PLUMB_OP_ROUND_FLOAT_H_
#define PLUMB_OP_ROUND_FLOAT_H_

#include "base/small_float.h"
#include "op/core/op.h"

namespace plumb {

struct RoundFloatParam : ParamBase<RoundFloatParam> {
  std::string format = "e4m3fn";
  bool saturate = true;
  void Visit(ParamVisitor& v) override {
    v.Text("format", format);
    v.Bool("saturate", saturate);
  }
};

Result<const SmallFloat*> RoundFloatFormat(const Layer& layer);

}  // namespace plumb

#endif  // PLUMB_OP_ROUND_FLOAT_H_
