// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizeLinear: tau is how many steps the rounded value may be off: 0 but next to a tie, as far as the input
// and its scale are uncertain (the runtime computes convolution and quantisation in one, in integers) and as the
// multiplication's own three roundings go (by the reciprocal of the scale, say); and as far as the zero point is.
// PlumbDequantizeLinear: the difference is exact, the product rounded once: tau 8 u |y| + 4 eta; level 1: q and its
// zero point times the scale, subtracted from one another: 8 u (|y| + 2 |zero point * scale|). An uncertain scale in
// quadrature, uncertain integers as 8 sigma.
#include "op/quantize_linear.h"

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"
#include "reference/core/steps.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

Result<Tensor> ZeroPoints(const ReferenceArgs& args) {
  if (args.inputs.size() < 3) return Tensor::Zeros(DType::kI64, args.inputs[1]->shape());
  return args.inputs[2]->ConvertedTo(DType::kI64);
}

double HalfEven(double x) { return std::nearbyint(x); }
double HalfAway(double x) { return std::round(x); }
double HalfUp(double x) { return std::floor(x + 0.5); }
double HalfDown(double x) { return std::ceil(x - 0.5); }
double Down(double x) { return std::floor(x); }
double TowardsZero(double x) { return std::trunc(x); }

// To f32 first: both operands of an f64 replay are f32 values. The zero point is added behind rounding, unless it is
// first, as integer kernels do it: where it is odd, ties fall on the other side.
template <double (*kRound)(double), bool kZeroFirst>
int64_t Quantized(double x, double scale, int64_t zero_point, const QuantShape& s) {
  const auto quotient = static_cast<double>(static_cast<float>(x) / static_cast<float>(scale));
  const auto zero = static_cast<double>(zero_point);
  const double q = kZeroFirst ? kRound(quotient + zero) : kRound(quotient) + zero;
  if (std::isnan(q)) return zero_point;
  return static_cast<int64_t>(std::clamp(q, static_cast<double>(s.low), static_cast<double>(s.high)));
}

template <double (*kRound)(double), bool kZeroFirst = false>
Status RunQuantize(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const QuantShape s, ResolveQuant(args.layer, InfosOf(args)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero_points, ZeroPoints(args));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scales, args.inputs[1]->ConvertedTo(DType::kF64));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    int64_t* y = args.outputs[0]->data<int64_t>();
    ParallelFor(args.inputs[0]->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = s.ScaleOf(i);
        y[i] = Quantized<kRound, kZeroFirst>(static_cast<double>(x[i]), scales.data<double>()[at],
                                             zero_points.data<int64_t>()[at], s);
      }
    });
    return Status::Ok();
  });
}

template <double (*kRound)(double), bool kZeroFirst = false>
Status BoundQuantize(const ReferenceArgs& args, const BoundArgs& bound) {
  SetExact(bound);
  PLUMB_RETURN_IF_ERROR((RunQuantize<kRound, kZeroFirst>(args)));
  const double *tau_x = InputTau(bound, 0), *tau_scale = InputTau(bound, 1), *tau_zero = InputTau(bound, 2);
  constexpr double kRequantise = 0x1p-22;
  PLUMB_ASSIGN_OR_RETURN(const QuantShape s, ResolveQuant(args.layer, InfosOf(args)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero_points, ZeroPoints(args));
  const double *x = args.inputs[0]->data<double>(), *scales = args.inputs[1]->data<double>();
  const int64_t* y = args.outputs[0]->data<int64_t>();
  for (int64_t i = 0; i < args.inputs[0]->NumElements(); ++i) {
    const int64_t at = s.ScaleOf(i), zero = zero_points.data<int64_t>()[at];
    const double span =
        static_cast<double>(s.high - s.low) * scales[at];  // where the zero point is added before rounding
    double slack = (tau_x == nullptr ? 0 : tau_x[i]) + kRequantise * (std::fabs(x[i]) + std::fabs(span));
    if (tau_scale != nullptr && x[i] != 0) slack += std::fabs(x[i] / scales[at]) * tau_scale[at];
    const int64_t low = Quantized<kRound, kZeroFirst>(x[i] - slack, scales[at], zero, s),
                  high = Quantized<kRound, kZeroFirst>(x[i] + slack, scales[at], zero, s);
    bound.tau[0]->data<double>()[i] = static_cast<double>(std::max(std::abs(low - y[i]), std::abs(high - y[i]))) +
                                      (tau_zero == nullptr ? 0 : tau_zero[at]);
    if (bound.arithmetic.any_integer_of_nan && (std::isnan(x[i]) || std::isnan(scales[at])))
      bound.tau[0]->data<double>()[i] = INFINITY;
  }
  return Status::Ok();
}

Status RunDequantize(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const QuantShape s, ResolveQuant(args.layer, InfosOf(args)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero_points, ZeroPoints(args));
  PLUMB_ASSIGN_OR_RETURN(const Tensor q, args.inputs[0]->ConvertedTo(DType::kI64));
  return WithStorage(args.outputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* scales = args.inputs[1]->data<T>();
    T* y = args.outputs[0]->data<T>();
    for (int64_t i = 0; i < q.NumElements(); ++i) {
      const int64_t at = s.ScaleOf(i);
      const auto difference = static_cast<double>(q.data<int64_t>()[i] - zero_points.data<int64_t>()[at]);
      y[i] = static_cast<T>(difference * static_cast<double>(scales[at]));
    }
    return Status::Ok();
  });
}

Status BoundDequantize(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunDequantize(args));
  PLUMB_ASSIGN_OR_RETURN(const QuantShape s, ResolveQuant(args.layer, InfosOf(args)));
  const double* y = args.outputs[0]->data<double>();
  const double* scales = args.inputs[1]->data<double>();
  const double *tau_q = InputTau(bound, 0), *tau_scale = InputTau(bound, 1);
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero_points, ZeroPoints(args));
  for (int64_t i = 0; i < args.outputs[0]->NumElements(); ++i) {
    double& tau = bound.tau[0]->data<double>()[i];
    const int64_t at = s.ScaleOf(i);
    const double zero = bound.level == 0 ? 0 : static_cast<double>(zero_points.data<int64_t>()[at]) * scales[at];
    tau = StoredTau(8 * bound.arithmetic.u * (std::fabs(y[i]) + 2 * std::fabs(zero)), y[i], bound.arithmetic);
    if (tau_q != nullptr) tau += kStepsToTau * tau_q[i] * std::fabs(scales[at]);
    if (tau_scale != nullptr && y[i] != 0) tau = Quadrature(tau, y[i] / scales[at] * tau_scale[at]);
    if (std::isnan(tau)) tau = INFINITY;  // an integer that may be any, times 0 or NaN
  }
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferencePlumbQuantizeLinear() {
  ReferenceOp op{RunQuantize<HalfEven>, BoundQuantize<HalfEven>};
  op.takes_uncertain_integers = true;  // the zero point
  return op;
}
ReferenceOp QuantizeHalfAway() { return {RunQuantize<HalfAway>, BoundQuantize<HalfAway>}; }
ReferenceOp QuantizeHalfUp() { return {RunQuantize<HalfUp>, BoundQuantize<HalfUp>}; }
ReferenceOp QuantizeHalfDown() { return {RunQuantize<HalfDown>, BoundQuantize<HalfDown>}; }
ReferenceOp QuantizeZeroFirst() { return {RunQuantize<HalfEven, true>, BoundQuantize<HalfEven, true>}; }
ReferenceOp QuantizeDown() { return {RunQuantize<Down>, BoundQuantize<Down>}; }
ReferenceOp QuantizeTowardsZero() { return {RunQuantize<TowardsZero>, BoundQuantize<TowardsZero>}; }
ReferenceOp ReferencePlumbDequantizeLinear() {
  ReferenceOp op{RunDequantize, BoundDequantize};
  op.takes_uncertain_integers = true;
  op.max_level = 1;
  return op;
}

}  // namespace plumb
