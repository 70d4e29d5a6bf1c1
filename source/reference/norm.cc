// SPDX-License-Identifier: Apache-2.0
// InstBatchNormCxx, GroupNorm, LayerNorm: two passes in float64. With z = (x - mean) / s, s^2 = variance + eps
//   tau = 12 sqrt(u^2 (g^2 z^2 + b^2 + y^2 + g^2 x^2 / s^2) + g^2 (sig_mu^2 + d_mu^2) / s^2
//                 + g^2 z^2 (sig_var^2 + d_var^2) / s^4) + 4 eta g / s                      (tolerance.md)
// for two-pass kernels. A one-pass variance E[x^2] - mean^2 loses mean^2 / variance and is judged as what it is: wrong
// there. Its own class (variants.h) adds 12 u (mean^2 / s^2) |g z| and the errors of both sums.
#include "op/norm.h"

#include <algorithm>

#include <fmt/core.h>

#include "reference/core/axis_rows.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

// gamma and beta as doubles; empty ones count as 1 and 0.
struct NormCoefficients {
  std::vector<double> gamma, beta;

  static Result<std::vector<double>> Values(const Tensor* tensor, const char* what, int64_t count) {
    if (tensor == nullptr) return std::vector<double>();
    if (tensor->NumElements() != count) {
      return Status::CorruptModel(fmt::format("{} expects {} values, found {}", what, count, tensor->NumElements()));
    }
    std::vector<double> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = tensor->ValueAt(static_cast<int64_t>(i));
    return values;
  }
  static Result<NormCoefficients> Of(const ReferenceArgs& args, const NormShape& shape) {
    const bool resources = args.layer.kind == OpKind::kInstBatchNormCxx;
    const auto blob = [&](size_t i) { return args.inputs.size() > i ? args.inputs[i] : nullptr; };
    NormCoefficients c;
    PLUMB_ASSIGN_OR_RETURN(c.gamma,
                           Values(resources ? args.layer.Resource("scale") : blob(1), "scale", shape.gammas()));
    PLUMB_ASSIGN_OR_RETURN(c.beta, Values(resources ? args.layer.Resource("bias") : blob(2), "bias", shape.gammas()));
    return c;
  }
  double Gamma(int64_t i) const { return gamma.empty() ? 1 : gamma[static_cast<size_t>(i)]; }
  double Beta(int64_t i) const { return beta.empty() ? 0 : beta[static_cast<size_t>(i)]; }
};

struct Moments {
  double mean, variance;
};

// The graph's, and what is computed in its place.
enum class Variance { kTwoPass, kOnePass, kUnbiased, kAroundZero, kEpsilonOutside, kOfFirst, kOfPrevious };

// The row whose statistics serve a row: its own, the first image's, or that of the image before.
template <Variance kVariance>
int64_t StatisticsRow(const NormShape& s, int64_t row) {
  if (kVariance == Variance::kOfFirst) return row % s.groups;
  if (kVariance == Variance::kOfPrevious) return (row + s.rows - s.groups) % s.rows;
  return row;
}

template <Variance kVariance, class T>
Moments MomentsOf(const T* x, int64_t n) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = kVariance == Variance::kAroundZero ? 0 : sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  return {mean, squares / static_cast<double>(kVariance == Variance::kUnbiased ? n - 1 : n)};
}

// The square of what x - mean is divided by.
template <Variance kVariance>
double Divisor2(const Moments& m, double eps) {
  if (kVariance != Variance::kEpsilonOutside) return m.variance + eps;
  return (std::sqrt(m.variance) + eps) * (std::sqrt(m.variance) + eps);
}

// f(row, first element, number of the row's first gamma)
template <class F>
void ForEachRowNorm(const NormShape& s, F f) {
  if (s.n == 0) return;
  ParallelFor(s.rows, std::max<int64_t>(1, kElementGrain / s.n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row * s.n, row % s.groups * s.per_row);
  });
}

template <Variance kVariance>
Status RunNorm(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const NormShape s, ResolveNorm(args.layer, args.inputs[0]->shape()));
  PLUMB_ASSIGN_OR_RETURN(const NormCoefficients c, NormCoefficients::Of(args, s));
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    ForEachRowNorm(s, [&](int64_t at, int64_t first) {
      const Moments m = MomentsOf<kVariance>(x + StatisticsRow<kVariance>(s, at / s.n) * s.n, s.n);
      const double inverse = 1 / std::sqrt(Divisor2<kVariance>(m, s.eps));
      for (int64_t i = 0; i < s.n; ++i) {
        const int64_t k = first + i / s.inner;
        y[at + i] = static_cast<T>((static_cast<double>(x[at + i]) - m.mean) * inverse * c.Gamma(k) + c.Beta(k));
      }
    });
    return Status::Ok();
  });
}

template <Variance kVariance>
void BoundRowNorm(const NormShape& s, const NormCoefficients& c, int64_t first, const double* of, const double* x,
                  const double* y, const Arithmetic& arithmetic, double* tau) {
  const double u = arithmetic.u;
  const Moments m = MomentsOf<kVariance>(of, s.n);
  MeanSum mean(s.n), variance(s.n), raw(s.n);
  for (int64_t i = 0; i < s.n; ++i) {
    mean.Add(of[i]);
    variance.Add((of[i] - m.mean) * (of[i] - m.mean));
    if (kVariance == Variance::kOnePass) raw.Add(of[i] * of[i]);
  }
  const double s2 = Divisor2<kVariance>(m, s.eps);
  const double mean2 = mean.Error2(u) / s2;
  double variance2 = variance.Error2(u) / (s2 * s2);
  if (kVariance == Variance::kOnePass) {
    const double cancelled = u * m.mean * m.mean / s2;
    variance2 += cancelled * cancelled + raw.Error2(u) / (s2 * s2) + 4 * m.mean * m.mean * mean2 / s2;
  }
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t k = first + i / s.inner;
    const double g = c.Gamma(k), b = c.Beta(k), z2 = (x[i] - m.mean) * (x[i] - m.mean) / s2;
    const double rounding = u * u * (g * g * z2 + b * b + y[i] * y[i] + g * g * x[i] * x[i] / s2);
    const double own =
        12 * std::sqrt(rounding + g * g * (mean2 + z2 * variance2)) + 4 * kEta * std::fabs(g) / std::sqrt(s2);
    tau[i] = StoredTau(own, y[i], arithmetic);
  }
}

template <Variance kVariance>
Status BoundNorm(const ReferenceArgs& args, const BoundArgs& bound) {
  if (InputTau(bound, 0) != nullptr)
    return Status::NotSupported(args.layer.type + " is not judged inside a fused group");
  PLUMB_RETURN_IF_ERROR(RunNorm<kVariance>(args));
  PLUMB_ASSIGN_OR_RETURN(const NormShape s, ResolveNorm(args.layer, args.inputs[0]->shape()));
  PLUMB_ASSIGN_OR_RETURN(const NormCoefficients c, NormCoefficients::Of(args, s));
  const double* x = args.inputs[0]->data<double>();
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  ForEachRowNorm(s, [&](int64_t at, int64_t first) {
    const double* of = x + StatisticsRow<kVariance>(s, at / s.n) * s.n;
    BoundRowNorm<kVariance>(s, c, first, of, x + at, y + at, bound.arithmetic, tau + at);
  });
  return Status::Ok();
}

template <Variance kVariance>
ReferenceOp MakeNorm() {
  return {RunNorm<kVariance>, BoundNorm<kVariance>, 0, false, true};
}

}  // namespace

ReferenceOp ReferenceInstBatchNormCxx() { return MakeNorm<Variance::kTwoPass>(); }
ReferenceOp ReferenceGroupNorm() { return MakeNorm<Variance::kTwoPass>(); }
ReferenceOp ReferenceLayerNorm() { return MakeNorm<Variance::kTwoPass>(); }
ReferenceOp OnePassNorm() { return MakeNorm<Variance::kOnePass>(); }
ReferenceOp UnbiasedNorm() { return MakeNorm<Variance::kUnbiased>(); }
ReferenceOp RmsNorm() { return MakeNorm<Variance::kAroundZero>(); }
ReferenceOp FirstStatisticsNorm() { return MakeNorm<Variance::kOfFirst>(); }
ReferenceOp PreviousStatisticsNorm() { return MakeNorm<Variance::kOfPrevious>(); }
ReferenceOp OutsideEpsilonNorm() { return MakeNorm<Variance::kEpsilonOutside>(); }

}  // namespace plumb
