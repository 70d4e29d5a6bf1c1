#include "check/subject/int8_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "check/subject/int8.h"
#include "check/subject/weight_formats.h"

namespace plumb {
namespace {

constexpr size_t kSample = 6;  // layers of an operator that speak for it

std::string Describe(const Int8Weights& weights) {
  if (weights.steps == 0) return "weights of unknown scale, counted as noise";
  const char* share = weights.per_channel ? "per output channel" : "per tensor";
  const char* of = weights.zero_point ? "from the smallest to the largest w, with a zero point," : "of max|w|";
  return fmt::format("weights rounded to {} steps {} {}", weights.steps, of, share);
}

bool IsBeyond(const LayerReport& layer) { return layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey; }

// A few layers of an operator.
struct Sample {
  std::vector<std::string> beyond, healthy;  // with the usual weights
  double healthy_off = 0;                    // sum of R of these
};

// The sum of R of layers, and how many of them are not beyond.
struct Fit {
  size_t explained = 0;
  double off = 0;
};

Fit FitOf(const std::vector<std::string>& layers, const RunReport& run) {
  Fit fit;
  for (const LayerReport& layer : run.layers) {
    const OutputReport* worst = layer.Worst();
    if (worst == nullptr || std::find(layers.begin(), layers.end(), layer.step.name) == layers.end()) continue;
    fit.explained += IsBeyond(layer) ? 0 : 1;
    fit.off += worst->rms_excess;
  }
  return fit;
}

std::vector<std::string> First(const std::vector<std::string>& layers) {
  return {layers.begin(), layers.begin() + static_cast<int64_t>(std::min(kSample, layers.size()))};
}

}  // namespace

const Int8Weights& WeightsOf(const Int8WeightsOf& all, const std::string& type) {
  static const Int8Weights usual;
  const auto found = all.find(type);
  return found == all.end() ? usual : found->second;
}

std::string Describe(const Int8WeightsOf& weights) {
  std::string text;
  for (const auto& [type, of_type] : weights) text += fmt::format("{}: {}; ", type, Describe(of_type));
  return text + (text.empty() ? "" : "others: ") + Describe(Int8Weights());
}

Status RoundWeights(const Int8WeightsOf& how, const std::vector<bool>& quantised, Graph* graph) {
  for (size_t i = 0; i < graph->layers.size(); ++i) {
    Layer& layer = graph->layers[i];
    const Int8Weights& weights = WeightsOf(how, layer.type);
    if (!quantised[i] || !IsProduct(layer) || weights.steps == 0) continue;
    const WeightFormat format = FormatOf(weights);
    const auto round = [&](Tensor* weight) -> Status {
      if (weight->dtype() != DType::kF32 || weight->NumElements() == 0) return Status::Ok();
      PLUMB_ASSIGN_OR_RETURN(*weight, RoundedWeight(format, layer, *weight));
      return Status::Ok();
    };
    const auto resource = layer.resources.find("weight");
    if (resource != layer.resources.end()) PLUMB_RETURN_IF_ERROR(round(&resource->second));
    for (const std::string& input : layer.inputs) {
      const auto constant = graph->constants.find(input);
      if (constant != graph->constants.end()) PLUMB_RETURN_IF_ERROR(round(&constant->second));
    }
  }
  return Status::Ok();
}

std::map<std::string, ProductSteps> ProductStepsOf(const Graph& graph, const RunReport& run) {
  std::map<int, std::string> products;  // by layer
  for (const Layer& layer : graph.layers) {
    if (IsProduct(layer)) products[layer.index] = layer.type;
  }
  std::map<std::string, ProductSteps> steps;
  for (const LayerReport& layer : run.layers) {
    const auto& members = layer.step.members;
    const auto product = std::find_if(members.begin(), members.end(),
                                      [&](const MemberInfo& m) { return products.count(m.index) != 0; });
    if (product == members.end() || layer.verdict == Verdict::kNotTested) continue;
    ProductSteps& of_type = steps[products[product->index]];
    (IsBeyond(layer) ? of_type.beyond : of_type.healthy).push_back(layer.step.name);
  }
  return steps;
}

Result<Int8WeightsOf> FindInt8Weights(const Graph& graph, const RunReport& usual, const JudgeLayers& judge) {
  // R, where both kinds of weights fit: no worse, or so much better that it speaks for the kind.
  constexpr double kNoWorse = 1.02, kBetter = 0.85;
  std::map<std::string, Sample> samples;
  std::vector<std::string> layers;
  bool any_beyond = false;
  for (const auto& [type, steps] : ProductStepsOf(graph, usual)) {
    any_beyond = any_beyond || !steps.beyond.empty();
    Sample sample{First(steps.beyond), First(steps.healthy)};
    sample.healthy_off = FitOf(sample.healthy, usual).off;
    for (const auto* part : {&sample.beyond, &sample.healthy}) layers.insert(layers.end(), part->begin(), part->end());
    samples[type] = std::move(sample);
  }
  Int8WeightsOf found;
  if (!any_beyond) return found;
  std::map<std::string, Fit> best;
  for (const Int8Weights& weights : Int8Choices()) {
    Int8WeightsOf tried;
    for (const auto& [type, sample] : samples) tried[type] = weights;
    PLUMB_ASSIGN_OR_RETURN(const RunReport run, judge(tried, layers));
    for (const auto& [type, sample] : samples) {
      const Fit beyond = FitOf(sample.beyond, run), healthy = FitOf(sample.healthy, run);
      if (healthy.explained < sample.healthy.size() || healthy.off > kNoWorse * sample.healthy_off) continue;
      const bool some = sample.beyond.empty() || beyond.explained > 0, most = 2 * beyond.explained > sample.beyond.size();
      if (!most && !(some && healthy.off < kBetter * sample.healthy_off)) continue;
      const Fit fit{beyond.explained, beyond.off + healthy.off};
      const Fit& other = best[type];
      if (fit.explained < other.explained || (fit.explained == other.explained && fit.off >= other.off)) continue;
      best[type] = fit;
      found[type] = weights;
    }
  }
  return found;
}

Int8WeightsOf UnknownWhereMostAreBeyond(const Graph& graph, const RunReport& run, Int8WeightsOf found) {
  const std::map<std::string, ProductSteps> all = ProductStepsOf(graph, run);
  size_t judged = 0, beyond = 0;
  for (const auto& [type, steps] : all) judged += steps.judged(), beyond += steps.beyond.size();
  if (judged < 2 || 2 * beyond <= judged) return found;
  for (const auto& [type, steps] : all) {
    if (2 * steps.beyond.size() > steps.judged()) found[type].steps = 0;
  }
  return found;
}

}  // namespace plumb
