// SPDX-License-Identifier: Apache-2.0
// Shared by the element-wise reference operators: apply a scalar function, derive its bound.
//
// tau of one element = rounding of the operator itself (given per element by `own`) and, inside a fused group, the
// spread of the function over [x - tau_x, x + tau_x]: kinks and steps get the largest slope in that range, as
// tolerance.md asks.
#ifndef PLUMB_REFERENCE_CORE_ELEMENTWISE_H_
#define PLUMB_REFERENCE_CORE_ELEMENTWISE_H_

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "reference/core/reference_op.h"

namespace plumb {

constexpr int64_t kElementGrain = 1 << 14;
constexpr double kEta = 0x1p-126;  // underflow: subnormals may be flushed

// y = f(x) on float storage; f is double -> double.
template <class F>
Status RunUnary(const ReferenceArgs& args, F f) {
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

// sqrt(a^2 + b^2) for taus, which are far from overflow and underflow in double: hypot takes 20 times as long.
inline double Quadrature(double a, double b) { return std::sqrt(a * a + b * b); }

// Largest |f(x') - f(x)| for x' = x - tau and x + tau; infinite where f ends inside that range (Log around 0).
template <class F>
double Spread(F f, double x, double y, double tau) {
  const double low = std::fabs(f(x - tau) - y);
  const double high = std::fabs(f(x + tau) - y);
  const double largest = low > high ? low : high;
  return low + high >= 0 ? largest : INFINITY;  // false for NaN
}

// An operator's own tau with the underflow floor and, where results are stored in fewer bits than they are computed in,
// the rounding of storing them. An exact operator hands on values that are stored already: 0.
constexpr double kExact = -1;
inline double StoredTau(double tau, double y, const Arithmetic& arithmetic) {
  if (tau == kExact) return 0;
  tau += 4 * kEta;
  if (arithmetic.u_out <= arithmetic.u) return tau;
  return Quadrature(tau, 8 * arithmetic.u_out * std::max(std::fabs(y), arithmetic.min_normal));
}

// |x| as the scale of an error of functions that grow like x on one side and die away on the other (Swish, Softplus).
inline double Reach(double x, double y) { return std::max(std::fabs(y), std::min(std::fabs(x), 128.0)); }

// tau of an output that is exact (integers, moved elements).
inline void SetExact(const BoundArgs& bound) {
  for (Tensor* tau : bound.tau) std::fill_n(tau->data<double>(), tau->NumElements(), 0.0);
}

// The bound of an operator whose outputs are exact.
template <Status (*kRun)(const ReferenceArgs&)>
Status RunExact(const ReferenceArgs& args, const BoundArgs& bound) {
  SetExact(bound);
  return kRun(args);
}

// An operator of that kind that is a step: nothing behind uncertain inputs can be judged.
template <Status (*kRun)(const ReferenceArgs&)>
ReferenceOp ExactStep() {
  ReferenceOp op{kRun, RunExact<kRun>};
  op.propagates = false;
  return op;
}

// Results of so many elements wait on the stack, because the outputs may be the inputs' own memory
// (ReferenceOp::in_place).
constexpr int64_t kElementRun = 256;

// own(x, y, u) is the operator's own tau without the underflow floor, or kExact.
template <class F, class Own>
Status RunUnaryWithBound(const ReferenceArgs& args, const BoundArgs& bound, F f, Own own) {
  const double* x = args.inputs[0]->data<double>();
  const double* tau_x = InputTau(bound, 0);
  double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  const Arithmetic arithmetic = bound.arithmetic;
  ParallelFor(args.inputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    double values[kElementRun], errors[kElementRun];
    for (int64_t at = begin; at < end; at += kElementRun) {
      const int64_t run = std::min(kElementRun, end - at);
      // One loop for each case: of an operator that is always exact compilers then make vectors.
      if (tau_x == nullptr) {
        for (int64_t i = 0; i < run; ++i) {
          values[i] = f(x[at + i]);
          errors[i] = StoredTau(own(x[at + i], values[i], arithmetic.u), values[i], arithmetic);
        }
      } else {
        for (int64_t i = 0; i < run; ++i) {
          values[i] = f(x[at + i]);
          const double error = StoredTau(own(x[at + i], values[i], arithmetic.u), values[i], arithmetic);
          const double spread = Spread(f, x[at + i], values[i], tau_x[at + i]);
          errors[i] = error == 0 ? spread : Quadrature(error, spread);  // exact operators save the root
        }
      }
      std::copy_n(values, run, y + at);
      std::copy_n(errors, run, tau + at);
    }
  });
  return Status::Ok();
}

// An operator whose element i depends on the inputs' elements i alone.
inline ReferenceOp ElementWise(Status (*run)(const ReferenceArgs&),
                               Status (*run_with_bound)(const ReferenceArgs&, const BoundArgs&)) {
  ReferenceOp op{run, run_with_bound};
  op.in_place = true;
  return op;
}

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_ELEMENTWISE_H_
