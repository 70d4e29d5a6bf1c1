// SPDX-License-Identifier: Apache-2.0
// Searches for a number that a proposal has in place of the layer's own; what is computed from the input anew.
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/text.h"
#include "check/cause/known_ways_util.h"

namespace plumb {
namespace {

// The value in [low, high] with the least misfit: half decades first, then golden sections of the best one.
double FindLeast(double low, double high, const std::function<double(double)>& misfit) {
  double best = std::log10(low), least = INFINITY;
  for (double at = std::log10(low); at <= std::log10(high) + 0.01; at += 0.5) {
    const double found = misfit(std::pow(10, at));
    if (found < least) least = found, best = at;
  }
  constexpr double kGolden = 0.6180339887498949;
  double a = best - 0.5, b = best + 0.5;
  double c = b - kGolden * (b - a), d = a + kGolden * (b - a);
  double at_c = misfit(std::pow(10, c)), at_d = misfit(std::pow(10, d));
  for (int i = 0; i < 24; ++i) {
    if (at_c < at_d) {
      b = d, d = c, at_d = at_c, c = b - kGolden * (b - a);
      at_c = misfit(std::pow(10, c));
    } else {
      a = c, c = d, at_c = at_d, d = a + kGolden * (b - a);
      at_d = misfit(std::pow(10, d));
    }
  }
  return std::pow(10, (a + b) / 2);
}

}  // namespace

void SearchValue(const ProposalContext& c, const std::string& family, double own, double low, double high,
                 const std::function<Proposal(double)>& with, Proposals* proposals) {
  constexpr double kBetter = 0.1;
  if (!c.cheap) return;
  const auto misfit = [&](double value) { return c.misfit(with(value)); };
  const double found = FindLeast(low, high, misfit);
  if (!(misfit(found) < kBetter * c.own_misfit)) return;
  std::set<double> seen = {own};
  const auto propose = [&](double value) {
    if (!seen.insert(value).second) return;
    Proposal proposal = with(value);
    proposal.family = family;
    proposals->push_back(std::move(proposal));
  };
  for (const int digits : {1, 2, 3}) propose(std::strtod(Number(found, digits).c_str(), nullptr));
  const double inverse = std::nearbyint(1 / (found * found)), square = std::nearbyint(found * found);
  if (inverse >= 1 && inverse < 1e6) propose(1 / std::sqrt(inverse));
  if (square >= 1 && square < 1e6) propose(std::sqrt(square));
  propose(std::strtod(Number(found, 6).c_str(), nullptr));
}

Proposal OfItsInput(const ProposalContext& c, std::string computed, std::string says, std::string family,
                    std::function<void(const Tensor& input, Tensor* values, Tensor* tau)> f) {
  Proposal proposal{std::move(computed), std::move(says), c.layer, {}, std::move(family)};
  const auto input = std::make_shared<std::optional<Tensor>>();  // asked for before its bound is
  proposal.reads = [input](size_t slot, const Tensor& tensor) -> Result<Tensor> {
    if (slot != 0 || input->has_value() || tensor.dtype() != DType::kF64) return tensor;
    PLUMB_ASSIGN_OR_RETURN(*input, tensor.Clone());  // the result may be in its memory
    return tensor;
  };
  const Shape shape = c.input;
  proposal.writes = [input, shape, f = std::move(f)](Tensor* values, Tensor* tau) {
    if (input->has_value() && values->dtype() == DType::kF64 && (*input)->shape() == shape) f(**input, values, tau);
    input->reset();
  };
  return proposal;
}

std::string NumberOrRoot(double value) {
  const std::string text = Number(value, 6);
  const auto whole = [&](double of) {
    return of > 1.5 && of < 1e6 && std::fabs(of - std::nearbyint(of)) < 1e-4 * of && std::nearbyint(of) != 4;
  };
  const double inverse = 1 / (value * value), square = value * value;
  if (whole(inverse)) return fmt::format("{} (1 / sqrt({}))", text, Number(std::nearbyint(inverse), 7));
  const bool itself = std::fabs(value - std::nearbyint(value)) < 1e-6;
  if (!itself && whole(square)) return fmt::format("{} (sqrt({}))", text, Number(std::nearbyint(square), 7));
  return text;
}

void SearchNamed(const ProposalContext& c, const std::string& name, double own, double low, double high,
                 const std::function<Layer(double)>& with, Proposals* proposals) {
  const auto proposal = [&](double value) -> Proposal {
    return {fmt::format("with {} {}", name, Number(value, 6)), Number(own, 6), with(value)};
  };
  SearchValue(c, name, own, low, high, proposal, proposals);
}

}  // namespace plumb
