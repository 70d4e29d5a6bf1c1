// SPDX-License-Identifier: Apache-2.0
// GridSample in f32.
#include "op/grid_sample.h"
#include "device/gpu/kernel_list.h"

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

}  // namespace plumb::gpu
