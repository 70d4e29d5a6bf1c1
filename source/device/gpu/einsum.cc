// SPDX-License-Identifier: Apache-2.0
// Einsum of up to four operands.
#include "op/einsum.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {

Status plan_einsum(Plan* plan) {
  constexpr int kOperands = 4;  // of einsum.gpu
  PLUMB_ASSIGN_OR_RETURN(const std::string number, plan->NumberOrF64(plan->in(0).dtype));
  const int operands = static_cast<int>(plan->spec.inputs.size());
  if (operands > kOperands) {
    return Status::NotSupported(fmt::format("takes at most {} operands, got {}", kOperands, operands));
  }
  std::vector<Shape> shapes;
  for (const BlobInfo& in : plan->spec.inputs) shapes.push_back(in.shape);
  PLUMB_ASSIGN_OR_RETURN(const EinsumPlan e, PlanEinsum(plan->layer(), shapes));
  std::vector<int64_t> loops = e.dims;
  for (const auto& strides : e.strides) loops.insert(loops.end(), strides.begin(), strides.end());
  std::vector<Port> ports = {plan->Out(0, number), plan->Ints(loops)};
  for (int i = 0; i < kOperands; ++i) ports.push_back(plan->In(std::min(i, operands - 1), number));
  const auto loop_count = static_cast<int64_t>(e.dims.size());
  Launch launch{"einsum_" + number, ports, {e.out.NumElements()}};
  launch.Int(operands).Int(e.out.rank()).Int(loop_count);
  plan->AddParts(launch, e.terms, loop_count - e.out.rank() + 2);
  return Status::Ok();
}

}  // namespace plumb::gpu
