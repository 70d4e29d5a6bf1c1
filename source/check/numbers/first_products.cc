// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/first_products.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "check/numbers/replay.h"
#include "check/numbers/weight_formats.h"

namespace plumb {
namespace {

// Of the R that the best weights of 8 bits leave. On a grid rounding alone is R 0.58, and an R of 2 is wrong.
constexpr double kMuchBetter = 1.0 / 3;

bool IsHalfOfRange(const Int8Weights& weights) { return weights.steps < (weights.zero_point ? 255 : 127); }

// By index.
std::set<int> FirstProductsOf(const Graph& graph) {
  std::set<std::string> reached;
  for (const GraphInput& input : graph.inputs) reached.insert(input.name);
  std::set<int> first;
  for (const Layer& layer : graph.layers) {
    const bool reads = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                   [&](const std::string& blob) { return reached.count(blob) != 0; });
    if (!reads) continue;
    if (IsProduct(layer))
      first.insert(layer.index);
    else
      reached.insert(layer.outputs.begin(), layer.outputs.end());
  }
  return first;
}

struct Suspect {
  const Layer* product;
  std::string step;
  bool by_all_bits = false;                             // weights of 8 bits explain it
  double all_bits_off = INFINITY, half_off = INFINITY;  // R of the best
  const Int8Weights* half = nullptr;                    // the best that is aligned
  bool IsHalf() const { return half != nullptr && !by_all_bits && half_off <= kMuchBetter * all_bits_off; }
};

// First products, with weights of 8 bits, whose steps are beyond these.
std::vector<Suspect> SuspectsOf(const Graph& graph, const RunReport& run, const Int8WeightsOf& held) {
  const std::set<int> first = FirstProductsOf(graph);
  std::vector<Suspect> suspects;
  for (const Layer& layer : graph.layers) {
    const Int8Weights& own = WeightsOf(held, layer);
    if (first.count(layer.index) == 0 || layer.Resource("weight") == nullptr || IsHalfOfRange(own)) continue;
    for (const LayerReport& report : run.layers) {
      const auto& members = report.step.members;
      const bool holds = std::any_of(members.begin(), members.end(),
                                     [&](const MemberInfo& member) { return member.index == layer.index; });
      if (holds && IsBeyondWeights(report)) suspects.push_back({&layer, report.step.name});
    }
  }
  return suspects;
}

// What the run with these weights says of those that were asked.
void NoteTried(const RunReport& with, const Int8Weights& choice, const Int8WeightsOf& tried,
               std::vector<Suspect>* suspects) {
  for (Suspect& suspect : *suspects) {
    const auto layer = std::find_if(with.layers.begin(), with.layers.end(),
                                    [&](const LayerReport& report) { return report.step.name == suspect.step; });
    if (tried.layers.count(suspect.product->index) == 0 || layer == with.layers.end()) continue;
    const OutputReport* worst = layer->Worst();
    if (worst == nullptr) continue;
    if (!IsHalfOfRange(choice)) {
      suspect.by_all_bits = suspect.by_all_bits || !IsBeyondWeights(*layer);
      suspect.all_bits_off = std::min(suspect.all_bits_off, worst->rms_excess);
    } else if (layer->verdict == Verdict::kAligned && worst->rms_excess < suspect.half_off) {
      suspect.half_off = worst->rms_excess;
      suspect.half = &choice;
    }
  }
}

// The choice for every suspect that may have it, with its like's bias.
Int8WeightsOf With(const Int8Weights& choice, const std::vector<Suspect>& suspects, const Int8WeightsOf& held) {
  Int8WeightsOf with{held.operators, {}};
  for (const Suspect& suspect : suspects) {
    const Int8Weights& own = WeightsOf(held, *suspect.product);
    const bool alike = choice.per_channel == own.per_channel && choice.zero_point == own.zero_point;
    if (IsHalfOfRange(choice) && !alike) continue;
    Int8Weights& weights = with.layers[suspect.product->index];
    weights = choice;
    weights.int32_bias = own.int32_bias;
  }
  return with;
}

}  // namespace

Result<Int8WeightsOf> FindHalfOfRange(const Graph& graph, const RunReport& run, const Int8WeightsOf& held,
                                      const JudgeLayers& judge) {
  Int8WeightsOf found{held.operators, {}};
  std::vector<Suspect> suspects = SuspectsOf(graph, run, held);
  if (suspects.empty()) return found;
  std::vector<std::string> steps;
  for (const Suspect& suspect : suspects) steps.push_back(suspect.step);
  for (const Int8Weights& choice : Int8Choices()) {
    const Int8WeightsOf tried = With(choice, suspects, held);
    if (tried.layers.empty()) continue;
    PLUMB_ASSIGN_OR_RETURN(const RunReport with, judge(tried, steps));
    NoteTried(with, choice, tried, &suspects);
  }
  for (const Suspect& suspect : suspects) {
    if (suspect.IsHalf()) found.layers.merge(With(*suspect.half, {suspect}, held).layers);
  }
  return found;
}

}  // namespace plumb
