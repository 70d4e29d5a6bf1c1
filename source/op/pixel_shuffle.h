// SPDX-License-Identifier: Apache-2.0
// Moving between channels and pixels, 4-D, r = upscale_factor or stride, (c, i, j) = output channel, row and column
// offset. PixelShuffle: output pixel (r h + i, r w + j) of channel c is input pixel (h, w) of channel c r^2 + i r + j.
// Reorg, forward: the same (mode 1, CRD), or from channel (i r + j) C + c (mode 0, DCR; C output channels).
// Reorg, not forward: the way back. TNN has no way back for mode 1 (it refuses such a model); here it is the inverse
// too.
#ifndef PLUMB_OP_PIXEL_SHUFFLE_H_
#define PLUMB_OP_PIXEL_SHUFFLE_H_

#include "op/core/op.h"

namespace plumb {

struct PixelShuffleParam : ParamBase<PixelShuffleParam> {
  int upscale_factor = 1;
  void Visit(ParamVisitor& v) override { v.Int("upscale_factor", upscale_factor, ParamVisitor::kRequired); }
};

struct ReorgParam : ParamBase<ReorgParam> {
  int stride = 1;
  int forward = 0;  // not 0: depth to space
  int mode = 0;     // 0 DCR, 1 CRD
  void Visit(ParamVisitor& v) override {
    v.Int("stride", stride, ParamVisitor::kRequired);
    v.Int("forward", forward, ParamVisitor::kRequired);
    v.Ignored("0");
    v.Int("mode", mode, ParamVisitor::kRequired);
  }
};

}  // namespace plumb

#endif  // PLUMB_OP_PIXEL_SHUFFLE_H_
