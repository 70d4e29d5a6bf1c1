// SPDX-License-Identifier: Apache-2.0
// PlumbCumSum: a serial sum per row; the axis is read on the device, where it may be an input.
#include "op/cum_sum.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {

Status plan_cum_sum(Plan* plan) {
  constexpr size_t kRank = 8;  // of cum_sum.gpu
  const BlobInfo& in = plan->in(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string number, plan->NumberOrF64(in.dtype));
  const std::vector<int64_t>& dims = in.shape.dims();
  if (dims.empty() || dims.size() > kRank) return Status::NotSupported(fmt::format("takes 1 to {} dims", kRank));
  const auto& p = ParamOf<CumSumParam>(plan->layer());
  const bool known = !plan->has(1) || !plan->in(1).value.empty();
  int64_t rows = in.shape.NumElements(), steps = *std::max_element(dims.begin(), dims.end()), wide = 0;
  if (known) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, CumSumAxis(plan->layer(), plan->spec.inputs));
    steps = in.shape[axis];
    rows = steps == 0 ? 0 : rows / steps;
  } else {
    PLUMB_ASSIGN_OR_RETURN(wide, plan->Wide(1));
  }
  const Port axis =
      known ? plan->Ints({steps == 0 ? 0 : CumSumAxis(plan->layer(), plan->spec.inputs).value()}) : plan->In(1, "i32");
  const Port flag = plan->Flag(fmt::format("the axis lies outside the rank {}", dims.size()));
  Launch launch{"cum_sum_" + number, {plan->Out(0, number), plan->In(0, number), axis, flag}, {rows}};
  launch.Int(in.shape.rank()).Int(in.shape.NumElements()).Int(p.exclusive).Int(p.reverse).Int(wide).Ints(dims, kRank);
  plan->AddParts(launch, steps);
  return Status::Ok();
}

}  // namespace plumb::gpu
