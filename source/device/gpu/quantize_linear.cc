// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizeLinear and PlumbDequantizeLinear.
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "device/gpu/kernel_list.h"
#include "op/quantize_linear.h"

namespace plumb::gpu {

Status plan_quantize(Plan* plan) {
  const bool quantize = plan->layer().kind == OpKind::kPlumbQuantizeLinear;
  const DType real = quantize ? plan->in(0).dtype : plan->out().dtype;
  if (real != DType::kF32 || plan->in(1).dtype != DType::kF32) {
    return Status::NotSupported(
        fmt::format("takes f32 and scales of f32, found {} and {}", DTypeName(real), DTypeName(plan->in(1).dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(const QuantShape s, ResolveQuant(plan->layer(), plan->spec.inputs));
  Plan::Whole zero{};
  if (plan->has(2)) {
    PLUMB_ASSIGN_OR_RETURN(zero, plan->WholeNumbers(2));
  } else {
    zero.port = plan->Ints(std::vector<int64_t>(static_cast<size_t>(plan->in(1).shape.NumElements()), 0));
  }
  const int64_t count = plan->out().shape.NumElements();
  const auto add = [&](const char* program, std::vector<Port> ports) -> Launch& {
    return plan->Add(program, count, std::move(ports))
        .Int(s.scales)
        .Int(s.inner)
        .Int(s.size)
        .Int(s.blocked ? s.block : 0);
  };
  if (quantize) {
    add("quantize", {plan->Out(0, "i32"), plan->In(0, "real"), plan->In(1, "f32"), zero.port})
        .Int(s.low)
        .Int(s.high)
        .Int(zero.wide);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole q, plan->WholeNumbers(0));
  add("dequantize", {plan->Out(0, "real"), q.port, plan->In(1, "f32"), zero.port}).Int(q.wide).Int(zero.wide);
  return Status::Ok();
}

}  // namespace plumb::gpu
