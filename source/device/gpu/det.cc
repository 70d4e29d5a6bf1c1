// SPDX-License-Identifier: Apache-2.0
// PlumbDet in f32.
#include "device/gpu/kernel_list.h"

namespace plumb::gpu {

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
