// SPDX-License-Identifier: Apache-2.0
// GridSample: samples x [N, C, spatial ...] at the positions that grid [N, out ..., rank] names, in (-1, 1) per spatial
// dim, the last dim first. mode 1 nearest (ties to even), 2 linear, 3 cubic (a = -0.75, 2-D only). pad_type, for what
// lies outside: 0 zeros, 1 reflection, 2 border. align_corners: -1 and 1 are the centres of the border elements, else
// their outer edges. A position that is no number counts as far outside.
#ifndef PLUMB_OP_GRID_SAMPLE_H_
#define PLUMB_OP_GRID_SAMPLE_H_

#include "op/core/op.h"

namespace plumb {

struct GridSampleParam : ParamBase<GridSampleParam> {
  int mode = 2;
  int pad_type = 0;
  bool align_corners = false;
  void Visit(ParamVisitor& v) override {
    v.Int("mode", mode);
    v.Int("pad_type", pad_type);
    v.Bool("align_corners", align_corners);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_GRID_SAMPLE_H_
