// SPDX-License-Identifier: Apache-2.0
// PlumbMatMulInteger.
#include "op/matmul_integer.h"
#include "device/gpu/kernel_list.h"
#include "op/matmul.h"

namespace plumb::gpu {
namespace {

// Input `i` where the layer has it, else one 0.
Result<Plan::Whole> ZeroPoint(Plan* plan, int i, bool there) {
  if (there) return plan->WholeNumbers(i);
  return Plan::Whole{plan->Ints({0}), 0};
}

}  // namespace

Status plan_matmul_integer(Plan* plan) {
  const auto& p = ParamOf<MatMulIntegerParam>(plan->layer());
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape s, ResolveMatMul(plan->in(0).shape, plan->in(1).shape));
  const int last = static_cast<int>(plan->spec.inputs.size()) - 1;
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole a, plan->WholeNumbers(0));
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole b, plan->WholeNumbers(1));
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole zero_a, ZeroPoint(plan, 2, p.has_a_zero_point));
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole zero_b, ZeroPoint(plan, last, p.has_b_zero_point));
  const bool per_row = p.has_a_zero_point && plan->in(2).shape.NumElements() > 1;
  const bool per_column = p.has_b_zero_point && plan->in(last).shape.NumElements() > 1;
  const Port first = plan->Ints({s.first_matrix.begin(), s.first_matrix.end()});
  const Port second = plan->Ints({s.second_matrix.begin(), s.second_matrix.end()});
  Launch launch{"matmul_integer",
                {plan->Out(0, "i32"), a.port, b.port, zero_a.port, zero_b.port, first, second},
                {plan->out().shape.NumElements()}};
  launch.Int(s.m).Int(s.n).Int(s.k).Int(a.wide).Int(b.wide).Int(per_row).Int(per_column);
  launch.Int(zero_a.wide).Int(zero_b.wide);
  plan->AddParts(launch, s.k);
  return Status::Ok();
}

}  // namespace plumb::gpu
