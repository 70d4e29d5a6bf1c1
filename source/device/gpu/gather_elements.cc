// SPDX-License-Identifier: Apache-2.0
// PlumbGatherElements of every dtype.
#include "op/gather_elements.h"

#include <fmt/core.h>

#include <utility>

#include "device/gpu/kernel_list.h"
#include "op/core/strided.h"

namespace plumb::gpu {

Status plan_gather_elements(Plan* plan) {
  constexpr size_t kRank = 8;  // of gather_elements.gpu
  const Shape &data = plan->in(0).shape, &out = plan->out().shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<GatherElementsParam>(plan->layer()).axis, data.rank()));
  PLUMB_ASSIGN_OR_RETURN(const int64_t wide, plan->Wide(1));
  if (data.dims().size() > kRank) return Status::NotSupported(fmt::format("takes at most {} dims", kRank));
  std::vector<int64_t> strides = DenseStrides(data);
  const int64_t stride = std::exchange(strides[static_cast<size_t>(axis)], 0);
  const std::string bits = plan->Bits(plan->in(0).dtype);
  const Port flag = plan->Flag(fmt::format("an index lies outside its dim of {}", data[axis]));
  plan->Add("gather_elements_" + bits, out.NumElements(),
            {plan->Out(0, bits), plan->In(0, bits), plan->In(1, "i32"), flag})
      .Int(wide)
      .Int(data[axis])
      .Int(stride)
      .Int(data.rank())
      .Ints(out.dims(), kRank)
      .Ints(strides, kRank);
  return Status::Ok();
}

}  // namespace plumb::gpu
