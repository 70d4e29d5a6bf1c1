// Shared by the element-wise reference operators: apply a scalar function, derive its bound.
//
// tau of one element = rounding of the operator itself (given per element by `own`) and, inside a fused group, the spread
// of the function over [x - tau_x, x + tau_x]: kinks and steps get the largest slope in that range, as tolerance.md asks.
#ifndef PLUMB_DEVICE_NAIVE_ELEMENTWISE_H_
#define PLUMB_DEVICE_NAIVE_ELEMENTWISE_H_

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "device/naive/naive_op.h"

namespace plumb {

constexpr int64_t kElementGrain = 1 << 14;
constexpr double kEta = 0x1p-126;  // underflow: subnormals may be flushed

// y = f(x) on float storage; f is double -> double.
template <class F>
Status RunUnary(const NaiveArgs& args, F f) {
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ParallelFor(args.inputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(f(static_cast<double>(x[i])));
    });
    return Status::Ok();
  });
}

// Largest |f(x') - f(x)| for x' = x - tau and x + tau.
template <class F>
double Spread(F f, double x, double y, double tau) {
  const double low = std::fabs(f(x - tau) - y);
  const double high = std::fabs(f(x + tau) - y);
  return std::max(low, high);
}

// own(x, y) is the operator's own tau.
template <class F, class Own>
Status RunUnaryWithBound(const NaiveArgs& args, const BoundArgs& bound, F f, Own own) {
  PLUMB_RETURN_IF_ERROR(RunUnary(args, f));
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  double* tau = bound.tau[0]->data<double>();
  ParallelFor(args.inputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      tau[i] = own(x[i], y[i]);
      if (tau_x != nullptr) tau[i] = std::hypot(tau[i], Spread(f, x[i], y[i], tau_x[i]));
    }
  });
  return Status::Ok();
}

}  // namespace plumb

#endif  // PLUMB_DEVICE_NAIVE_ELEMENTWISE_H_
