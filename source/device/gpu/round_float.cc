// SPDX-License-Identifier: Apache-2.0
// PlumbRoundFloat.
#include <limits>

#include "device/gpu/kernel_list.h"
#include "op/round_float.h"

namespace plumb::gpu {

Status plan_round_float(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  PLUMB_ASSIGN_OR_RETURN(const SmallFloat* format, RoundFloatFormat(plan->layer()));
  const bool saturate = ParamOf<RoundFloatParam>(plan->layer()).saturate || !format->has_nan;
  const float beyond = saturate               ? static_cast<float>(format->largest)
                       : format->has_infinity ? std::numeric_limits<float>::infinity()
                                              : std::numeric_limits<float>::quiet_NaN();
  plan->Add("round_float", plan->out().shape.NumElements(), {plan->Out(0, "real"), plan->In(0, "real")})
      .Int(format->mantissa)
      .Int(format->bias)
      .Float(static_cast<float>(format->largest))
      .Float(beyond)
      .Int(format->has_nan)
      .Int(format->unsigned_zero);
  return Status::Ok();
}

}  // namespace plumb::gpu
