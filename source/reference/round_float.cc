// SPDX-License-Identifier: Apache-2.0
// PlumbRoundFloat (op/round_float.h): exact. Uncertain inputs: what the rounding makes of x - tau and of x + tau.
#include "op/round_float.h"

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Status RunRoundFloat(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const SmallFloat* format, RoundFloatFormat(args.layer));
  const bool saturate = ParamOf<RoundFloatParam>(args.layer).saturate;
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ParallelFor(args.inputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y[i] = static_cast<T>(RoundToSmallFloat(*format, static_cast<double>(x[i]), saturate));
    });
    return Status::Ok();
  });
}

Status BoundRoundFloat(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunExact<RunRoundFloat>(args, bound));
  const double* tau_x = InputTau(bound, 0);
  if (tau_x == nullptr) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const SmallFloat* format, RoundFloatFormat(args.layer));
  const bool saturate = ParamOf<RoundFloatParam>(args.layer).saturate;
  const double *x = args.inputs[0]->data<double>(), *y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  for (int64_t i = 0; i < args.inputs[0]->NumElements(); ++i) {
    const double low = RoundToSmallFloat(*format, x[i] - tau_x[i], saturate);
    const double high = RoundToSmallFloat(*format, x[i] + tau_x[i], saturate);
    tau[i] = low == high ? 0 : std::max(std::fabs(low - y[i]), std::fabs(high - y[i]));
  }
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferencePlumbRoundFloat() { return {RunRoundFloat, BoundRoundFloat}; }

}  // namespace plumb
