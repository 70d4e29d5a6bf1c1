// GridSample, RoiAlign, PlumbRoiAlign and PlumbDet, all in f32.
#include <fmt/core.h>

#include <algorithm>

#include "device/gpu/kernel_list.h"
#include "op/grid_sample.h"
#include "op/roi_align.h"

namespace plumb::gpu {

Status plan_grid_sample(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(1));
  const auto& p = ParamOf<GridSampleParam>(plan->layer());
  const Shape& in = plan->in(0).shape;
  constexpr int kSpatial = 3;  // of grid_sample.gpu
  if (in.rank() - 2 > kSpatial) return Status::NotSupported("takes at most 3 spatial dims, got " + in.ToString());
  const std::vector<int64_t> spatial(in.dims().begin() + 2, in.dims().end());
  plan->Add("grid_sample", plan->out().shape.NumElements(),
            {plan->Out(0, "real"), plan->In(0, "real"), plan->In(1, "f32")})
      .Int(in[1])
      .Int(in.rank() - 2)
      .Int(plan->out().shape.CountFrom(2))
      .Int(p.mode)
      .Int(p.pad_type)
      .Int(p.align_corners)
      .Ints(spatial, kSpatial);
  return Status::Ok();
}

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

Status plan_det(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  const Shape& in = plan->in(0).shape;
  const int64_t n = in[in.rank() - 1];
  PLUMB_RETURN_IF_ERROR(plan->RequireRounds(n * n * n / 3 + 4 * n * n));
  plan->Add("det", plan->out().shape.NumElements(),
            {plan->Out(0, "real"), plan->Scratch(in.NumElements(), "f32"), plan->In(0, "real")})
      .Int(n);
  return Status::Ok();
}

}  // namespace plumb::gpu
