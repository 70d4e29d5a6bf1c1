// SPDX-License-Identifier: Apache-2.0
// Normalize: y = x / max(norm, epsilon), the norm along `axis` (across_spatial: along it and all dims behind it).
// p: 1 sum |x|, 2 sqrt(sum x^2), INT_MAX max |x|, INT_MIN min |x|. TNN's naive kernel forgets epsilon for every p but
// 2, so a zero column divides by zero there, takes the signed maximum and minimum, and runs only axis 1 without
// across_spatial.
#ifndef PLUMB_OP_NORMALIZE_H_
#define PLUMB_OP_NORMALIZE_H_

#include <climits>

#include "op/core/op.h"

namespace plumb {

struct NormalizeParam : ParamBase<NormalizeParam> {
  int across_spatial = 0;
  float epsilon = 1e-12f;
  int channel_shared = 1;  // without meaning: there is no scale
  int axis = 1;
  int p = 2;
  void Visit(ParamVisitor& v) override {
    v.Int("across_spatial", across_spatial);
    v.Float("epsilon", epsilon);
    v.Int("channel_shared", channel_shared);
    v.Int("axis", axis);
    v.Int("p", p);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_NORMALIZE_H_
