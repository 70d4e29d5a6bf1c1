// SPDX-License-Identifier: Apache-2.0
// OneHot, PlumbOneHot of every dtype; indices are whole numbers or floats.
#include "op/one_hot.h"

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {

Status plan_one_hot(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const OneHotShape s, ResolveOneHot(plan->layer(), plan->spec.inputs));
  Plan::Whole index;
  if (plan->in(0).dtype == DType::kF32) {
    const int64_t count = plan->in(0).shape.NumElements();
    index = {plan->Scratch(count, "i32"), 0};
    plan->Add("to_index", count, {index.port, plan->In(0, "real")});
  } else {
    PLUMB_ASSIGN_OR_RETURN(index, plan->WholeNumbers(0));
  }
  const bool tnn = plan->layer().kind == OpKind::kOneHot;
  const std::string type = tnn ? "real" : plan->Bits(s.dtype);
  Port values = plan->In(2, type);
  if (tnn) {
    const auto& p = ParamOf<OneHotParam>(plan->layer());
    values = plan->Floats({p.off_value, p.on_value});
  }
  plan->Add("one_hot_" + type, s.out.NumElements(), {plan->Out(0, type), index.port, values})
      .Int(s.depth)
      .Int(s.inner)
      .Int(index.wide);
  return Status::Ok();
}

}  // namespace plumb::gpu
