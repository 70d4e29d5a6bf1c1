// PlumbIsNaN, PlumbIsInf (op/classify.h); exact, and a step: nothing behind uncertain inputs can be judged.
#include "op/classify.h"

#include <cmath>

#include "device/naive/elementwise.h"

namespace plumb {
namespace {

template <class F>
Status Classify(const NaiveArgs& args, F f) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, args.inputs[0]->ConvertedTo(DType::kF64));
  for (int64_t i = 0; i < x.NumElements(); ++i) args.outputs[0]->data<bool>()[i] = f(x.data<double>()[i]);
  return Status::Ok();
}

Status RunNaN(const NaiveArgs& args) {
  return Classify(args, [](double x) { return std::isnan(x); });
}

Status RunInf(const NaiveArgs& args) {
  const auto& p = ParamOf<IsInfParam>(args.layer);
  return Classify(args, [&](double x) { return std::isinf(x) && (x < 0 ? p.detect_negative : p.detect_positive); });
}

template <Status (*run)(const NaiveArgs&)>
NaiveOp OpClassify() {
  NaiveOp op;
  op.run = run;
  op.run_with_bound = [](const NaiveArgs& args, const BoundArgs& bound) {
    SetExact(bound);
    return run(args);
  };
  op.propagates = false;
  return op;
}

}  // namespace

NaiveOp NaivePlumbIsNaN() { return OpClassify<RunNaN>(); }
NaiveOp NaivePlumbIsInf() { return OpClassify<RunInf>(); }

}  // namespace plumb
