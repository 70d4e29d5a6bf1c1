// SPDX-License-Identifier: Apache-2.0
// PReLU: y = x < 0 ? slope[c] * x : x. tau = 8 u |y| (tolerance.md, "Other operators").
#include "op/prelu.h"

#include <algorithm>

#include <fmt/core.h>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

double Value(double x, double slope) { return x < 0 ? slope * x : x; }

// f(begin, end, slope) for each run of elements with one slope.
template <class F>
Status ForEachRun(const ReferenceArgs& args, F f) {
  const Shape& shape = args.inputs[0]->shape();
  const Tensor* resource = args.layer.Resource("slope");
  if (resource == nullptr) return Status::CorruptModel("the slope is missing");
  const int64_t count = resource->NumElements();
  if (count != 1 && count != shape.DimOrOne(1)) {
    return Status::CorruptModel(fmt::format("slope expects 1 or {} values for the input {}, found {}",
                                            shape.DimOrOne(1), shape.ToString(), count));
  }
  if (shape.NumElements() == 0) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Tensor slopes, resource->ConvertedTo(DType::kF32));
  const float* slope = slopes.data<float>();
  const int64_t inner = shape.rank() < 2 ? 1 : shape.CountFrom(2);
  ParallelFor(shape.NumElements() / inner, std::max<int64_t>(1, kElementGrain / inner),
              [&](int64_t begin, int64_t end) {
                for (int64_t run = begin; run < end; ++run)
                  f(run * inner, (run + 1) * inner, static_cast<double>(slope[run % count]));
              });
  return Status::Ok();
}

Status RunPrelu(const ReferenceArgs& args) {
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    return ForEachRun(args, [&](int64_t begin, int64_t end, double slope) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(Value(static_cast<double>(x[i]), slope));
    });
  });
}

Status BoundPrelu(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunPrelu(args));
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  double* tau = bound.tau[0]->data<double>();
  return ForEachRun(args, [&](int64_t begin, int64_t end, double slope) {
    for (int64_t i = begin; i < end; ++i) {
      tau[i] = StoredTau(8 * bound.arithmetic.u * std::fabs(y[i]), y[i], bound.arithmetic);
      if (tau_x == nullptr) continue;
      tau[i] = Quadrature(tau[i], Spread([&](double v) { return Value(v, slope); }, x[i], y[i], tau_x[i]));
    }
  });
}

}  // namespace

ReferenceOp ReferencePReLU() { return {RunPrelu, BoundPrelu}; }

}  // namespace plumb
