// SPDX-License-Identifier: Apache-2.0
// PlumbCumSum (op/cum_sum.h). tau of each prefix: 12 sqrt(sig^2 + u_out^2 y^2 + d^2) + 4 eta (tolerance.md, "Other
// operators"), sig over all partial sums so far, d how far a serial fp32 sum strays; uncertain inputs in quadrature.
#include "op/cum_sum.h"

#include <algorithm>
#include <cmath>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

// One row's state.
struct Prefix {
  double sum = 0, squares = 0, drift = 0, tau2 = 0;
  float serial = 0;

  void Add(double x, double tau) {
    sum += x;
    serial += static_cast<float>(x);
    squares += sum * sum;
    drift = std::max(drift, std::fabs(static_cast<double>(serial) - sum));
    tau2 += tau * tau;
  }
  double Tau(const Arithmetic& a) const {
    const double sig2 = a.u * a.u * squares;
    return std::sqrt(144 * (sig2 + a.u_out * a.u_out * sum * sum + drift * drift) + tau2) + 4 * kEta;
  }
};

// f(element index) in the order of summation, row by row; done() after each row.
template <class F, class Done>
Status ForEachRowCumSum(const ReferenceArgs& args, F f, Done done) {
  const bool reverse = ParamOf<CumSumParam>(args.layer).reverse;
  PLUMB_ASSIGN_OR_RETURN(const int axis, CumSumAxis(args.layer, InfosOf(args)));
  const Shape& shape = args.inputs[0]->shape();
  const int64_t size = shape[axis], inner = shape.CountFrom(axis + 1);
  for (int64_t r = 0; r < shape.Count(0, axis) * inner; ++r) {
    const int64_t start = r / inner * size * inner + r % inner;
    for (int64_t i = 0; i < size; ++i) f(start + (reverse ? size - 1 - i : i) * inner);
    done();
  }
  return Status::Ok();
}

Status RunCumSum(const ReferenceArgs& args) {
  const bool exclusive = ParamOf<CumSumParam>(args.layer).exclusive;
  return WithNumber(args.inputs[0]->dtype(), [&](auto number) {
    using T = decltype(number);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    Sum sum = 0;
    const auto step = [&](int64_t i) {
      const Sum before = sum;
      sum += static_cast<Sum>(x[i]);
      y[i] = static_cast<T>(exclusive ? before : sum);
    };
    return ForEachRowCumSum(args, step, [&] { sum = 0; });
  });
}

Status BoundCumSum(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunCumSum(args));
  SetExact(bound);
  if (!IsFloat(args.inputs[0]->dtype())) return Status::Ok();
  const bool exclusive = ParamOf<CumSumParam>(args.layer).exclusive;
  const double* x = args.inputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  double* tau = bound.tau[0]->data<double>();
  Prefix prefix;
  const auto step = [&](int64_t i) {
    if (exclusive) tau[i] = prefix.Tau(bound.arithmetic);
    prefix.Add(x[i], tau_x == nullptr ? 0 : tau_x[i]);
    if (!exclusive) tau[i] = prefix.Tau(bound.arithmetic);
  };
  return ForEachRowCumSum(args, step, [&] { prefix = {}; });
}

}  // namespace

ReferenceOp ReferencePlumbCumSum() { return {RunCumSum, BoundCumSum}; }

}  // namespace plumb
