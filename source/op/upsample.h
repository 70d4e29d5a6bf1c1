// SPDX-License-Identifier: Apache-2.0
// Upsample: resizes height and width of a 4-D blob. Size: out_h, out_w when given, else the input's times scale_h,
// scale_w, rounded to nearest; or known inputs as in ONNX (2: x, scales; 3: x, roi, scales; 4: x, roi, scales, sizes;
// the last two entries count). The step is always in / out, whatever the scale said. Per axis, o being the output
// position:
//   mode 1 nearest   element floor(o in / out); align_corners is not used
//   mode 2 linear    at o (in - 1) / (out - 1), 0 when out is 1, with align_corners; else at (o + 0.5) in / out - 0.5,
//   cut to
//                    [0, in - 1] (half-pixel), 0 when out is 1
//   mode 3 cubic     the same positions, not cut (and -0.5 without align_corners when out is 1), kernel with A = -0.75,
//   taps
//                    outside the input repeat its border
// A size that does not change copies. Every tap counts, also with weight 0: an infinity beside an exactly hit element
// gives NaN, as it does in TNN and ONNX Runtime.
#ifndef PLUMB_OP_UPSAMPLE_H_
#define PLUMB_OP_UPSAMPLE_H_

#include "op/core/op.h"

namespace plumb {

enum UpsampleMode { kUpsampleNearest = 1, kUpsampleLinear = 2, kUpsampleCubic = 3 };

struct UpsampleParam : ParamBase<UpsampleParam> {
  int mode = kUpsampleNearest;
  float scale_h = 1, scale_w = 1;
  int align_corners = 0;
  int out_h = 0, out_w = 0;  // 0 0: from the scales
  void Visit(ParamVisitor& v) override;
};

struct UpsampleShape {
  UpsampleMode mode = kUpsampleNearest;
  bool align_corners = false;
  Shape in, out;
};

Result<UpsampleShape> ResolveUpsample(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_UPSAMPLE_H_
