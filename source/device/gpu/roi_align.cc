// SPDX-License-Identifier: Apache-2.0
// RoiAlign and PlumbRoiAlign in f32.
#include <fmt/core.h>

#include <algorithm>

#include "device/gpu/kernel_list.h"
#include "op/roi_align.h"

namespace plumb::gpu {

Status plan_roi_align(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(1));
  const PlumbRoiAlignParam p = RoiParamOf(plan->layer());
  const Shape& in = plan->in(0).shape;
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole images, plan->WholeNumbers(2));
  const int64_t points = std::min<int64_t>(plan->facts.max_rounds, INT32_MAX);
  const int64_t wanted = p.base.sampling_ratio;
  PLUMB_RETURN_IF_ERROR(plan->RequireRounds(wanted * wanted + 2 * wanted));
  const Port image_flag = plan->Flag(fmt::format("a batch index is outside 0 .. {}", in[0] - 1));
  const Port points_flag =
      plan->Flag(fmt::format("a region needs more points a bin than the {} that the driver loops", points));
  plan->Add("roi_align", plan->out().shape.NumElements(),
            {plan->Out(0, "real"), plan->In(0, "real"), plan->In(1, "f32"), images.port, image_flag, points_flag})
      .Int(in[1])
      .Int(in[2])
      .Int(in[3])
      .Int(p.base.out_h)
      .Int(p.base.out_w)
      .Int(p.base.mode == 1)
      .Int(wanted)
      .Float(p.base.spatial_scale)
      .Int(p.half_pixel)
      .Int(in[0])
      .Int(images.wide)
      .Int(points);
  return Status::Ok();
}

}  // namespace plumb::gpu
