// SPDX-License-Identifier: Apache-2.0
// ScatterElements, ScatterND and PlumbMaxUnpool. Without a reduction every target remembers the last update that means
// it, and every element of the output fetches its value; with one a work item applies the updates of a line in order.
#include "op/scatter.h"

#include <fmt/core.h>

#include <utility>

#include "device/gpu/kernel_list.h"
#include "op/core/strided.h"
#include "op/gather_elements.h"
#include "op/pool_nd.h"

namespace plumb::gpu {
namespace {

constexpr size_t kTargetRank = 8;  // of targets_*.gpu

Port NoTargets(Plan* plan, int64_t slots) {
  const Port targets = plan->Scratch(slots, "i32");
  plan->Add("fill", slots, {targets}).Int(-1);
  return targets;
}

// One target per slice of the updates, in slices: written to `to`, or (last) remembered by the target.
Status AddTargets(Plan* plan, const ScatterShape& s, const Port& to, bool last) {
  const Shape &data = plan->in(0).shape, &indices = plan->in(1).shape;
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole index, plan->WholeNumbers(1));
  std::vector<int64_t> dims = data.dims(), strides = DenseStrides(data);
  const Port flag = plan->Flag("an index lies outside its dim of the data " + data.ToString());
  if (s.axis >= 0) {
    const int64_t stride = std::exchange(strides[static_cast<size_t>(s.axis)], 0);
    plan->Add("targets_elements", indices.NumElements(), {to, index.port, flag})
        .Int(index.wide)
        .Int(data[s.axis])
        .Int(stride)
        .Int(data.rank())
        .Ints(indices.dims(), kTargetRank)
        .Ints(strides, kTargetRank)
        .Int(last);
    return Status::Ok();
  }
  const int64_t width = indices[indices.rank() - 1];
  for (int64_t& stride : strides) stride = s.slice > 0 ? stride / s.slice : 0;
  plan->Add("targets_nd", indices.Count(0, indices.rank() - 1), {to, index.port, flag})
      .Int(index.wide)
      .Int(width)
      .Ints(dims, kTargetRank)
      .Ints(strides, kTargetRank)
      .Int(last);
  return Status::Ok();
}

}  // namespace

Status plan_scatter(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const ScatterShape s, ResolveScatter(plan->layer(), plan->spec.inputs));
  const Shape &data = plan->in(0).shape, &updates = plan->in(2).shape;
  if (data.dims().size() > kTargetRank) return Status::NotSupported(fmt::format("takes at most {} dims", kTargetRank));
  if (data.NumElements() == 0) return Status::Ok();
  const std::string bits = plan->Bits(plan->in(0).dtype);
  if (s.reduction == Reduction::kNone) {
    const Port targets = NoTargets(plan, data.NumElements() / s.slice);
    PLUMB_RETURN_IF_ERROR(AddTargets(plan, s, targets, true));
    plan->Add("scatter_pick_" + bits, data.NumElements(),
              {plan->Out(0, bits), plan->In(0, bits), plan->In(2, bits), targets})
        .Int(s.slice)
        .Int(1);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string number, plan->Number(plan->in(0).dtype));
  const Port targets = plan->Scratch(updates.NumElements() / s.slice, "i32");
  PLUMB_RETURN_IF_ERROR(AddTargets(plan, s, targets, false));
  plan->Add("copy_" + bits, data.NumElements(), {plan->Out(0, bits), plan->In(0, bits)});
  // The updates of one line may share targets; those of different lines never do.
  const int64_t inner = s.axis >= 0 ? updates.CountFrom(s.axis + 1) : s.slice;
  const int64_t steps = s.axis >= 0 ? updates[s.axis] : updates.NumElements() / s.slice;
  const int64_t lines = steps == 0 ? 0 : updates.NumElements() / steps;
  Launch combine{"scatter_combine_" + number, {plan->Out(0, number), plan->In(2, number), targets}, {lines}};
  combine.Int(steps).Int(inner).Int(s.slice).Int(static_cast<int64_t>(s.reduction) -
                                                 static_cast<int64_t>(Reduction::kAdd));
  plan->AddParts(combine, steps);
  return Status::Ok();
}

Status plan_max_unpool(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const UnpoolShape s, ResolveUnpool(plan->layer(), plan->spec.inputs));
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole index, plan->WholeNumbers(1));
  if (s.out.dims().size() > kTargetRank) return Status::NotSupported(fmt::format("takes at most {} dims", kTargetRank));
  const std::string bits = plan->Bits(plan->in(0).dtype);
  const int64_t count = s.out.NumElements();
  const Port targets = NoTargets(plan, count);
  const Port flag = plan->Flag("an index lies outside " + s.inferred.ToString());
  plan->Add("targets_unpool", plan->in(0).shape.NumElements(), {targets, index.port, flag})
      .Int(s.out.rank())
      .Int(s.inferred.NumElements())
      .Int(index.wide)
      .Ints(s.inferred.dims(), kTargetRank)
      .Ints(s.out.dims(), kTargetRank);
  plan->Add("scatter_pick_" + bits, count, {plan->Out(0, bits), plan->In(0, bits), plan->In(0, bits), targets})
      .Int(1)
      .Int(0);
  return Status::Ok();
}

}  // namespace plumb::gpu
