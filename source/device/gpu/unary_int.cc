// SPDX-License-Identifier: Apache-2.0
// The rows of op/unary_int.def.
#include "device/gpu/kernel_list.h"
#include "op/activation.h"

namespace plumb::gpu {

Status plan_unary_int(Plan* plan) {
  const std::optional<int> row = UnaryIntRow(plan->layer().kind);
  const DType dtype = plan->in(0).dtype;
  if (!row || (dtype != DType::kI32 && dtype != DType::kI64)) {
    return Status::NotSupported(std::string("takes i32 and i64, found ") + DTypeName(dtype));
  }
  const WholeLimits limits = WholeLimitsOf(plan->layer(), dtype);
  const std::string type = DTypeName(dtype);
  Launch& launch =
      plan->Add("unary_int_" + type, plan->out().shape.NumElements(), {plan->Out(0, type), plan->In(0, type)});
  launch.Int(*row);
  for (const int64_t limit : {limits.low, limits.high}) {
    launch.Int(static_cast<int32_t>(limit)).Int(static_cast<int32_t>(limit >> 32));
  }
  return Status::Ok();
}

}  // namespace plumb::gpu
