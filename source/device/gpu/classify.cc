// SPDX-License-Identifier: Apache-2.0
// PlumbIsNaN and PlumbIsInf.
#include "op/classify.h"
#include "device/gpu/kernel_list.h"

namespace plumb::gpu {

Status plan_classify(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  const bool nan = plan->layer().kind == OpKind::kPlumbIsNaN;
  Launch& launch = plan->Add("classify", plan->out().shape.NumElements(), {plan->Out(0, "u8"), plan->In(0, "real")});
  launch.Int(nan);
  if (nan) {
    launch.Int(0).Int(0);
  } else {
    const auto& p = ParamOf<IsInfParam>(plan->layer());
    launch.Int(p.detect_positive).Int(p.detect_negative);
  }
  return Status::Ok();
}

}  // namespace plumb::gpu
