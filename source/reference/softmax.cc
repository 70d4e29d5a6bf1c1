// SPDX-License-Identifier: Apache-2.0
// Softmax: p = exp(x - m) / sum exp(x - m) along one axis; LogSoftmax: y = x - m - ln sum exp(x - m). With D = sum p (m
// - x)
//   Softmax     tau = 12 p sqrt(u^2 (4 + (m - x)^2 + D^2) + (sig^2 + d^2) / sum^2) + 12 eta
//   LogSoftmax  tau = 12 sqrt(u^2 (y^2 + ln^2 sum + D^2) + (sig^2 + d^2) / sum^2)          (tolerance.md)
// Uncertain inputs move ln p_i by dx_i - sum_j p_j dx_j, whose size is s: s^2 = t_i^2 (1 - p_i)^2 + sum_{j != i} p_j^2
// t_j^2. LogSoftmax's tau^2 grows by s^2, that of Softmax by the larger of p (e^s - 1), at most 1 - p, and p (1 -
// e^-s).
#include "op/softmax.h"

#include <algorithm>
#include <cfloat>

#include "reference/core/axis_rows.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

Result<Rows> RowsOfSoftmax(const ReferenceArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<SoftmaxParam>(args.layer).axis, shape.rank()));
  return Rows::Over(shape, axis, axis + 1);
}

template <class T>
double MaxOfSoftmax(const Rows& rows, const T* x) {
  double max = -INFINITY;
  for (int64_t i = 0; i < rows.n; ++i) {
    const double v = static_cast<double>(x[i * rows.inner]);
    if (!(v <= max)) max = v;  // a NaN wins and stays
    if (std::isnan(max)) break;
  }
  return max;
}

template <bool kLog, class T>
void RunRow(const Rows& rows, const T* x, T* y) {
  const double max = MaxOfSoftmax(rows, x);
  double sum = 0;
  for (int64_t i = 0; i < rows.n; ++i) sum += std::exp(static_cast<double>(x[i * rows.inner]) - max);
  const double log_sum = std::log(sum);
  for (int64_t i = 0; i < rows.n; ++i) {
    const double shifted = static_cast<double>(x[i * rows.inner]) - max;
    y[i * rows.inner] = static_cast<T>(kLog ? shifted - log_sum : std::exp(shifted) / sum);
  }
}

template <bool kLog>
Status RunSoftmax(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const Rows rows, RowsOfSoftmax(args));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    rows.ForEach([&](int64_t, int64_t at) { RunRow<kLog>(rows, x + at, y + at); });
    return Status::Ok();
  });
}

template <bool kLog>
void BoundRowSoftmax(const Rows& rows, const double* x, const double* y, const Arithmetic& arithmetic, double* tau) {
  const double max = MaxOfSoftmax(rows, x), u = arithmetic.u;
  SerialSum sum(rows.n);
  double mean_distance = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    const double distance = max - x[i * rows.inner], e = std::exp(-distance);
    sum.Add(e);
    if (e > 0) mean_distance += e * distance;
  }
  mean_distance /= sum.value();
  const double of_sum = SumError2(sum, u) / (sum.value() * sum.value());
  const double log_sum = std::log(sum.value());
  for (int64_t i = 0; i < rows.n; ++i) {
    const double value = y[i * rows.inner];
    const double distance = std::isfinite(x[i * rows.inner]) ? max - x[i * rows.inner] : 0;
    const double squares = kLog ? value * value + log_sum * log_sum : 4 + distance * distance;
    const double spread = std::sqrt(u * u * (squares + mean_distance * mean_distance) + of_sum);
    tau[i * rows.inner] = StoredTau(kLog ? 12 * spread : 12 * value * spread + 8 * kEta, value, arithmetic);
  }
}

// How far p = e^log_p moves with its logarithm. A p that has died away may come to life.
double MoveOfWeight(double p, double log_p, double s) {
  return std::max(std::exp(std::min(0.0, log_p + s)) - p, p - p * std::exp(-s));
}

// The same for s of eight standard deviations: below 1e-3 to first order; far beyond, where a move ends at 0 or 1,
// eight times that of one.
double TauOfWeight(double p, double log_p, double s) {
  if (s < 1e-3) return p * s;
  return std::max(MoveOfWeight(p, log_p, s), 8 * MoveOfWeight(p, log_p, s / 8));
}

template <bool kLog>
void CarryRowSoftmax(const Rows& rows, const double* x, const double* x_tau, const double* y, double* tau) {
  const double max = MaxOfSoftmax(rows, x);
  // What the term moves the sum by; a key that -inf hides, or that has died away, moves nothing.
  const auto of_sum = [&](int64_t at, double p) { return std::isfinite(x[at]) && p > 0 ? p * x_tau[at] : 0.0; };
  double all = 0, most = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    const int64_t at = i * rows.inner;
    const double p = kLog ? std::exp(y[at]) : y[at];
    most = std::max(most, p);
    all += of_sum(at, p) * of_sum(at, p);
  }
  for (int64_t i = 0; i < rows.n; ++i) {
    const int64_t at = i * rows.inner;
    if (!std::isfinite(x[at])) continue;
    const double p = kLog ? std::exp(y[at]) : y[at], own = x_tau[at] * (1 - p), in_sum = of_sum(at, p);
    const double s = std::sqrt(own * own + std::max(0.0, all - in_sum * in_sum));
    tau[at] = Quadrature(tau[at], kLog ? s : TauOfWeight(p, x[at] - max + std::log(most), s));
  }
}

template <bool kLog>
Status BoundSoftmax(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunSoftmax<kLog>(args));
  PLUMB_ASSIGN_OR_RETURN(const Rows rows, RowsOfSoftmax(args));
  const double *x = args.inputs[0]->data<double>(), *x_tau = InputTau(bound, 0);
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  rows.ForEach([&](int64_t, int64_t at) {
    BoundRowSoftmax<kLog>(rows, x + at, y + at, bound.arithmetic, tau + at);
    if (x_tau != nullptr) CarryRowSoftmax<kLog>(rows, x + at, x_tau + at, y + at, tau + at);
  });
  return Status::Ok();
}

// Runs each row with `row(rows, x, y)` and adds, in quadrature, what `more(rows, x, y, u, i)` says to the bound of the
// true operator: for kernels without the shift (variants.h).
template <class Row, class More>
Status BoundVariant(const ReferenceArgs& args, const BoundArgs& bound, bool log, Row row, More more) {
  PLUMB_RETURN_IF_ERROR(log ? BoundSoftmax<true>(args, bound) : BoundSoftmax<false>(args, bound));
  PLUMB_ASSIGN_OR_RETURN(const Rows rows, RowsOfSoftmax(args));
  const double* x = args.inputs[0]->data<double>();
  double *y = args.outputs[0]->data<double>(), *tau = bound.tau[0]->data<double>();
  rows.ForEach([&](int64_t, int64_t at) {
    row(rows, x + at, y + at);
    for (int64_t i = 0; i < rows.n; ++i) {
      const int64_t k = at + i * rows.inner;
      const double added = more(x[k], y[k], bound.arithmetic.u);
      if (std::isfinite(added) && std::isfinite(tau[k])) tau[k] = Quadrature(tau[k], added);
    }
  });
  return Status::Ok();
}

// As f32 has it: infinite beyond its range, 0 below.
double InFloat(double x) { return static_cast<double>(static_cast<float>(x)); }

struct Unshifted {
  static void Row(const Rows& rows, const double* x, double* y) {
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) sum += InFloat(std::exp(x[i * rows.inner]));
    for (int64_t i = 0; i < rows.n; ++i) y[i * rows.inner] = InFloat(std::exp(x[i * rows.inner])) / InFloat(sum);
  }
  // exp's relative error grows with |x|, not with the distance from the maximum.
  static double More(double x, double y, double u) { return 12 * u * std::fabs(y) * (1 + std::fabs(x)); }
};

template <bool kClipped>
struct LogOf {
  static void Row(const Rows& rows, const double* x, double* y) {
    RunRow<false>(rows, x, y);
    for (int64_t i = 0; i < rows.n; ++i) {
      double& value = y[i * rows.inner];
      value = std::log(kClipped ? std::max(value, static_cast<double>(FLT_MIN)) : InFloat(value));
    }
  }
  // p's own error, and of a subnormal p its rounding.
  static double More(double, double y, double u) { return 16 * u * (1 + std::fabs(y)) + std::exp(-y) * 0x1p-149; }
};

template <class Variant, bool kLog>
ReferenceOp MakeSoftmax() {
  return {[](const ReferenceArgs& args) {
            PLUMB_ASSIGN_OR_RETURN(const Rows rows, RowsOfSoftmax(args));
            if (args.inputs[0]->dtype() != DType::kF64) return Status::NotSupported("variants are replays in f64");
            const double* x = args.inputs[0]->data<double>();
            double* y = args.outputs[0]->data<double>();
            rows.ForEach([&](int64_t, int64_t at) { Variant::Row(rows, x + at, y + at); });
            return Status::Ok();
          },
          [](const ReferenceArgs& args, const BoundArgs& bound) {
            return BoundVariant(args, bound, kLog, Variant::Row, Variant::More);
          },
          0, false, true};
}

}  // namespace

ReferenceOp UnshiftedSoftmax() { return MakeSoftmax<Unshifted, false>(); }
ReferenceOp LogOfSoftmax() { return MakeSoftmax<LogOf<false>, true>(); }
ReferenceOp LogOfClippedSoftmax() { return MakeSoftmax<LogOf<true>, true>(); }
ReferenceOp ReferenceSoftmax() { return {RunSoftmax<false>, BoundSoftmax<false>}; }
ReferenceOp ReferenceLogSoftmax() { return {RunSoftmax<true>, BoundSoftmax<true>}; }

}  // namespace plumb
