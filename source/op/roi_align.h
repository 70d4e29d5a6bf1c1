// SPDX-License-Identifier: Apache-2.0
// RoiAlign, PlumbRoiAlign: each region of interest (x1 y1 x2 y2, times spatial_scale) is cut into out_h x out_w bins;
// every bin is the average, or the maximum, of sampling_ratio^2 points (0: as many as the bin has elements, rounded up)
// that are interpolated linearly; a point more than 1 outside counts 0. Inputs x [N, C, H, W], rois [R, 4], batch
// indices [R]. The maximum is taken over the weighted neighbours of all points, as ONNX and TNN define it. RoiAlign is
// TNN's (ONNX's output_half_pixel: regions are at least 1 wide). PlumbRoiAlign has half_pixel: positions are moved by
// 1/2 and regions may be smaller.
#ifndef PLUMB_OP_ROI_ALIGN_H_
#define PLUMB_OP_ROI_ALIGN_H_

#include "op/core/op.h"

namespace plumb {

struct RoiAlignParam : ParamBase<RoiAlignParam> {
  int mode = 1;  // 0 max, 1 average
  int out_h = 0, out_w = 0;
  int sampling_ratio = 0;
  float spatial_scale = 0;
  void Visit(ParamVisitor& v) override {
    v.Int("mode", mode);
    v.Int("out_h", out_h);
    v.Int("out_w", out_w);
    v.Int("sampling_ratio", sampling_ratio);
    v.Float("spatial_scale", spatial_scale);
  }
};

struct PlumbRoiAlignParam : ParamBase<PlumbRoiAlignParam> {
  RoiAlignParam base;
  bool half_pixel = true;
  void Visit(ParamVisitor& v) override {
    base.Visit(v);
    v.Bool("half_pixel", half_pixel);
  }
};

// The parameters of either operator.
PlumbRoiAlignParam RoiParamOf(const Layer& layer);

}  // namespace plumb

#endif  // PLUMB_OP_ROI_ALIGN_H_
