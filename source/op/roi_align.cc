// SPDX-License-Identifier: Apache-2.0
#include "op/roi_align.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferRoiAlign(ShapeContext& context) {
  const RoiAlignParam p = RoiParamOf(context.layer).base;
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  const Shape &x = context.shape(0), &rois = context.shape(1);
  if (p.mode < 0 || p.mode > 1 || p.out_h < 1 || p.out_w < 1 || p.sampling_ratio < 0 || p.sampling_ratio > 4096) {
    return Status::InvalidArgument("expects mode 0 or 1, a positive output size and sampling_ratio from 0 to 4096");
  }
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 || context.shape(2) != Shape{rois[0]} ||
      context.inputs[1].dtype != context.inputs[0].dtype || IsFloat(context.inputs[2].dtype)) {
    return Status::InvalidArgument(
        fmt::format("expects x [N, C, H, W], rois [R, 4] of its dtype and R whole batch indices, found {}, {} and {}",
                    x.ToString(), rois.ToString(), context.shape(2).ToString()));
  }
  const Shape out{rois[0], x[1], p.out_h, p.out_w};
  PLUMB_RETURN_IF_ERROR(out.Validate());
  if (x[2] == 0 || x[3] == 0) return Status::InvalidArgument("cannot sample an empty " + x.ToString());
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

template <class P>
OpDef DefineOfRoiAlign() {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = InferRoiAlign;
  return op;
}

}  // namespace

PlumbRoiAlignParam RoiParamOf(const Layer& layer) {
  if (layer.kind == OpKind::kPlumbRoiAlign) return ParamOf<PlumbRoiAlignParam>(layer);
  PlumbRoiAlignParam p;
  p.base = ParamOf<RoiAlignParam>(layer);
  p.half_pixel = false;
  return p;
}

OpDef DefineRoiAlign() { return DefineOfRoiAlign<RoiAlignParam>(); }
OpDef DefinePlumbRoiAlign() { return DefineOfRoiAlign<PlumbRoiAlignParam>(); }

}  // namespace plumb
