// SPDX-License-Identifier: Apache-2.0
// PlumbIsNaN, PlumbIsInf (op/classify.h); exact, and a step: nothing behind uncertain inputs can be judged.
#include "op/classify.h"

#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

template <class F>
Status Classify(const ReferenceArgs& args, F f) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, args.inputs[0]->ConvertedTo(DType::kF64));
  for (int64_t i = 0; i < x.NumElements(); ++i) args.outputs[0]->data<bool>()[i] = f(x.data<double>()[i]);
  return Status::Ok();
}

Status RunNaN(const ReferenceArgs& args) {
  return Classify(args, [](double x) { return std::isnan(x); });
}

Status RunInf(const ReferenceArgs& args) {
  const auto& p = ParamOf<IsInfParam>(args.layer);
  return Classify(args, [&](double x) { return std::isinf(x) && (x < 0 ? p.detect_negative : p.detect_positive); });
}

template <Status (*run)(const ReferenceArgs&)>
ReferenceOp OpClassify() {
  ReferenceOp op;
  op.run = run;
  op.run_with_bound = [](const ReferenceArgs& args, const BoundArgs& bound) {
    SetExact(bound);
    return run(args);
  };
  op.propagates = false;
  return op;
}

}  // namespace

ReferenceOp ReferencePlumbIsNaN() { return OpClassify<RunNaN>(); }
ReferenceOp ReferencePlumbIsInf() { return OpClassify<RunInf>(); }

}  // namespace plumb
