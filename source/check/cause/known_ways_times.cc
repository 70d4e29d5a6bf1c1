// SPDX-License-Identifier: Apache-2.0
// Proposals for terms of a sum that count another number of times: a residual that is added twice, the alpha and beta
// of a Gemm.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/cause/computed_otherwise.h"
#include "check/cause/known_ways_util.h"
#include "check/numbers/int8.h"

namespace plumb {
namespace {

void AddedTwice(const ProposalContext& c, Proposals* proposals) {
  if (c.layer.inputs.size() != 2 || c.layer.inputs[0] == c.layer.inputs[1]) return;
  for (size_t slot = 0; slot < 2; ++slot) {
    const std::string& blob = c.layer.inputs[slot];
    if (!c.blobs.at(blob).value.empty()) continue;  // another constant
    Proposal proposal{fmt::format("with '{}' added twice", blob), "once", c.layer};
    proposal.reads = [slot](size_t at, const Tensor& input) -> Result<Tensor> {
      if (at != slot || input.dtype() != DType::kF64) return input;
      PLUMB_ASSIGN_OR_RETURN(Tensor twice, input.Clone());
      ForEachReal(&twice, [](double v) { return 2 * v; });
      return twice;
    };
    proposals->push_back(std::move(proposal));
  }
}

// The bias at element i of a result of matrices, or 0.
double BiasAt(const Tensor* bias, int64_t i) {
  return bias == nullptr || bias->NumElements() == 0 ? 0 : bias->ValueAt(i % bias->NumElements());
}

// A factor with few digits, near what fits best: alpha and beta are such.
double FewDigits(double factor) {
  if (!std::isfinite(factor) || factor == 0) return factor;
  const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(factor))) - 2);
  return std::nearbyint(factor / unit) * unit;
}

// t with the device nearest to `fixed` + t `scaled`, rounded to few digits.
template <class Scaled, class Fixed>
double FittedFactor(const Tensor& device, Scaled scaled, Fixed fixed) {
  double of_both = 0, of_scaled = 0;
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    of_both += (device.ValueAt(i) - fixed(i)) * scaled(i);
    of_scaled += scaled(i) * scaled(i);
  }
  return FewDigits(of_both / of_scaled);
}

// Of an InnerProduct that is a step of its own: a Gemm's alpha is in its weights, its beta in its bias.
void ScaledTerms(const ProposalContext& c, Proposals* proposals) {
  const ReplayedStep& step = c.step;
  if (c.group.members.size() != 1 || step.device.size() != 1 || step.replay.values[0].dtype() != DType::kF64) return;
  const Tensor *bias = c.layer.Resource("bias"), &y = step.replay.values[0], &device = step.device[0];
  if (device.NumElements() != y.NumElements()) return;
  const auto sum_at = [&](int64_t i) { return y.data<double>()[i] - BiasAt(bias, i); };
  const auto bias_at = [&](int64_t i) { return BiasAt(bias, i); };
  const auto propose = [&](const char* what, double factor, bool of_sum) {
    const bool told = !of_sum && (factor == 0 || factor == 2 || factor == -1);  // by known_ways_product.cc
    if (!std::isfinite(factor) || factor == 1 || told) return;
    Proposal proposal{fmt::format("with {} times {}", what, Number(factor, 6)), "once", c.layer, {}, "factor"};
    const Tensor known = bias == nullptr ? Tensor() : *bias;
    proposal.writes = [=](Tensor* values, Tensor* tau) {
      for (int64_t i = 0; i < values->NumElements(); ++i) {
        double& value = values->data<double>()[i];
        const double own = known.empty() ? 0 : BiasAt(&known, i);
        value = of_sum ? factor * (value - own) + own : value - own + factor * own;
      }
      if (tau != nullptr) ForEachReal(tau, [&](double t) { return t * std::max(1.0, std::fabs(factor)); });
    };
    proposals->push_back(std::move(proposal));
  };
  propose("its product", FittedFactor(device, sum_at, bias_at), true);
  if (bias != nullptr) propose("its bias", FittedFactor(device, bias_at, sum_at), false);
}

}  // namespace

void ProposeForTimes(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kAdd) AddedTwice(context, proposals);
  if (context.layer.kind == OpKind::kInnerProduct) ScaledTerms(context, proposals);
}

}  // namespace plumb
