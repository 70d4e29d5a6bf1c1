// SPDX-License-Identifier: Apache-2.0
// A batch norm folded into what stands before it: w' = w k, b' = beta + (b - mean) k, with k = gamma / sqrt(variance +
// epsilon). So factors per channel tell epsilon: (gamma / k)^2 - variance, the same in each channel of the right norm.
#include <algorithm>
#include <cmath>

#include "session/weight_match.h"

namespace plumb {
namespace {

// Of frameworks and networks: PyTorch 1e-5, Keras 1e-3, YOLO 1e-3, Caffe 1e-5, older ones 1e-4 and others.
constexpr double kUsualEpsilons[] = {1e-5, 1e-3, 1e-4, 1e-6, 1e-12, 1e-8, 1e-7, 2e-5, 1.001e-5, 1e-2, 0};

double NormValue(const WeightSet& set, int place, int64_t channel, double otherwise) {
  return place < 0 ? otherwise : double{set.tensors[static_cast<size_t>(place)].value.data<float>()[channel]};
}

bool HasChannels(const WeightSet& set, const WeightNorm& norm, size_t channels) {
  for (const int place : {norm.gamma, norm.beta, norm.mean, norm.variance}) {
    if (place >= 0 && set.tensors[static_cast<size_t>(place)].value.NumElements() != static_cast<int64_t>(channels))
      return false;
  }
  return true;
}

double ScaleOf(const WeightSet& set, const WeightNorm& norm, int64_t channel, double epsilon) {
  return NormValue(set, norm.gamma, channel, 1) / std::sqrt(NormValue(set, norm.variance, channel, 1) + epsilon);
}

// By how much the norm's scale is off, relative to the largest factor; infinite where it cannot be.
double Misfit(const WeightSet& set, const WeightNorm& norm, const std::vector<double>& factors, double epsilon) {
  double worst = 0;
  for (size_t c = 0; c < factors.size(); ++c) {
    if (std::isnan(factors[c])) continue;
    const double scale = ScaleOf(set, norm, static_cast<int64_t>(c), epsilon);
    const double off = std::abs(scale - factors[c]) / std::max(std::abs(factors[c]), 1e-12);
    if (!(off <= worst)) worst = off;  // a NaN counts
  }
  return worst;
}

// The epsilon that fits best: channels of small variance say it most exactly.
double EstimatedEpsilon(const WeightSet& set, const WeightNorm& norm, const std::vector<double>& factors) {
  double sum = 0, weights = 0;
  for (size_t c = 0; c < factors.size(); ++c) {
    const auto channel = static_cast<int64_t>(c);
    const double gamma = NormValue(set, norm.gamma, channel, 1), variance = NormValue(set, norm.variance, channel, 1);
    if (std::isnan(factors[c]) || factors[c] == 0 || gamma == 0) continue;
    const double total = gamma / factors[c] * (gamma / factors[c]);
    sum += (total - variance) / (total * total), weights += 1 / (total * total);
  }
  return weights > 0 ? sum / weights : 0;
}

}  // namespace

std::optional<NormFit> FitNorm(const WeightSet& set, const std::vector<double>& factors, double tolerance,
                               std::optional<double> epsilon) {
  std::optional<NormFit> best;
  double least = tolerance;
  for (const WeightNorm& norm : set.norms) {
    if (!HasChannels(set, norm, factors.size())) continue;
    const std::optional<double> said = norm.epsilon ? norm.epsilon : epsilon;
    const auto take = [&](double candidate) {
      const double misfit = Misfit(set, norm, factors, candidate);
      if (!(misfit <= least)) return false;
      least = misfit;
      best = NormFit{&norm, candidate, said.has_value(), said.value_or(candidate)};
      return true;
    };
    if (said && take(*said)) continue;
    if (std::any_of(std::begin(kUsualEpsilons), std::end(kUsualEpsilons), take)) continue;
    take(EstimatedEpsilon(set, norm, factors));
  }
  return best;
}

std::vector<double> FoldedBias(const WeightSet& set, const NormFit& fit, const Tensor* bias) {
  const auto channels =
      static_cast<size_t>(set.tensors[static_cast<size_t>(std::max(fit.norm->variance, 0))].value.NumElements());
  std::vector<double> folded;
  for (size_t c = 0; c < channels; ++c) {
    const auto channel = static_cast<int64_t>(c);
    const double own = bias == nullptr || bias->NumElements() != static_cast<int64_t>(channels)
                           ? 0
                           : double{bias->data<float>()[channel]};
    folded.push_back(NormValue(set, fit.norm->beta, channel, 0) + (own - NormValue(set, fit.norm->mean, channel, 0)) *
                                                                      ScaleOf(set, *fit.norm, channel, fit.epsilon));
  }
  return folded;
}

}  // namespace plumb
