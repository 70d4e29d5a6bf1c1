// SPDX-License-Identifier: Apache-2.0
// PlumbTrilu, PlumbReverseSequence and PlumbCompress of every dtype.
#include "op/selection.h"

#include <fmt/core.h>

#include "device/gpu/kernel_list.h"
#include "op/reverse_sequence.h"
#include "op/trilu.h"

namespace plumb::gpu {

Status plan_trilu(Plan* plan) {
  const auto& p = ParamOf<TriluParam>(plan->layer());
  const Shape& shape = plan->in(0).shape;
  Plan::Whole k{plan->Ints({p.k}), 0};
  if (plan->has(1)) {
    PLUMB_ASSIGN_OR_RETURN(k, plan->WholeNumbers(1));
  }
  const std::string bits = plan->Bits(plan->in(0).dtype);
  plan->Add("trilu_" + bits, shape.NumElements(), {plan->Out(0, bits), plan->In(0, bits), k.port})
      .Int(shape[shape.rank() - 2])
      .Int(shape[shape.rank() - 1])
      .Int(p.upper)
      .Int(k.wide);
  return Status::Ok();
}

Status plan_reverse_sequence(Plan* plan) {
  const auto& p = ParamOf<ReverseSequenceParam>(plan->layer());
  const Shape& shape = plan->in(0).shape;
  PLUMB_ASSIGN_OR_RETURN(const int batch, NormalizeAxis(p.batch_axis, shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const int time, NormalizeAxis(p.time_axis, shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const Plan::Whole lengths, plan->WholeNumbers(1));
  const std::string bits = plan->Bits(plan->in(0).dtype);
  const Port flag = plan->Flag(fmt::format("a length is outside 0 .. {}", shape[time]));
  plan->Add("reverse_sequence_" + bits, shape.NumElements(),
            {plan->Out(0, bits), plan->In(0, bits), lengths.port, flag})
      .Int(lengths.wide)
      .Int(shape[time])
      .Int(shape.CountFrom(time + 1))
      .Int(shape[batch])
      .Int(shape.CountFrom(batch + 1));
  return Status::Ok();
}

Status plan_compress(Plan* plan) {
  PLUMB_ASSIGN_OR_RETURN(const CompressShape s, ResolveCompress(plan->layer(), plan->spec.inputs));
  const std::string bits = plan->Bits(plan->in(0).dtype);
  plan->Add("take_" + bits, plan->out().shape.NumElements(),
            {plan->Out(0, bits), plan->In(0, bits), plan->Ints(s.kept)})
      .Int(static_cast<int64_t>(s.kept.size()))
      .Int(s.size)
      .Int(s.inner);
  return Status::Ok();
}

}  // namespace plumb::gpu
