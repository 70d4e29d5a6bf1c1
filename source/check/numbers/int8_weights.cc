// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/int8_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "check/numbers/int8.h"
#include "check/numbers/weight_formats.h"

namespace plumb {
namespace {

constexpr size_t kSample =
    4;  // layers of an operator that speak for it, of those beyond the usual weights and of others

std::string Describe(const Int8Weights& weights) {
  if (weights.steps == 0) return "weights of unknown scale, counted as noise";
  const char* share = weights.per_channel ? "per output channel" : "per tensor";
  const char* of = weights.zero_point ? "from the smallest to the largest w, with a zero point," : "of max|w|";
  return fmt::format("weights rounded to {} steps {} {}{}", weights.steps, of, share,
                     weights.int32_bias ? ", bias to the input's step times that" : "");
}

// Where a normalisation was folded into it, too, the runtime's bias is not the layer's.
Status RoundBias(const Int8Weights& how, const RoundedLayer& rounded, Layer* layer) {
  const auto bias = layer->resources.find("bias");
  const Tensor* weight = layer->Resource("weight");
  if (!how.int32_bias || rounded.folded != nullptr || rounded.input_step == 0 || weight == nullptr) return Status::Ok();
  if (bias == layer->resources.end() || bias->second.dtype() != DType::kF32) return Status::Ok();
  const std::vector<double> steps = StepsOf(how, *layer, *weight);
  if (static_cast<int64_t>(steps.size()) != bias->second.NumElements()) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(bias->second, bias->second.Clone());
  for (size_t c = 0; c < steps.size(); ++c) {
    float& b = bias->second.data<float>()[c];
    const double step = rounded.input_step * steps[c];
    if (step > 0) b = static_cast<float>(std::nearbyint(static_cast<double>(b) / step) * step);
  }
  return Status::Ok();
}

Status Round(const WeightFormat& format, const Layer& layer, const Layer* norm, Tensor* weight) {
  if (weight->dtype() != DType::kF32 || weight->NumElements() == 0) return Status::Ok();
  auto rounded = norm == nullptr ? RoundedWeight(format, layer, *weight) : RoundedFolded(format, layer, *norm, *weight);
  PLUMB_ASSIGN_OR_RETURN(*weight, std::move(rounded));
  return Status::Ok();
}

// Layers that are not beyond, and the sum of R of all.
struct Fit {
  size_t explained = 0;
  double off = 0;
  bool fits = false;
  bool IsBetterThan(const Fit& other) const {
    if (!fits || !other.fits) return fits;
    return explained != other.explained ? explained > other.explained : off < other.off;
  }
};

Fit FitOf(const std::vector<std::string>& layers, const RunReport& run) {
  Fit fit;
  for (const LayerReport& layer : run.layers) {
    const OutputReport* worst = layer.Worst();
    if (worst == nullptr || std::find(layers.begin(), layers.end(), layer.step.name) == layers.end()) continue;
    fit.explained += IsBeyondWeights(layer) ? 0 : 1;
    fit.off += worst->rms_excess;
  }
  return fit;
}

// A few layers of an operator.
struct Sample {
  std::vector<std::string> beyond, healthy;  // with the usual weights
  double healthy_off = 0;                    // sum of R of these

  // Whether weights that explain so many of those beyond may fit at all.
  bool may_fit(const Fit& bad) const { return beyond.empty() || bad.explained > 0; }
  // Explains most of what is beyond and is no worse for what is not; or some of it, and is better there.
  Fit Judge(const Fit& bad, const Fit& good) const {
    constexpr double kNoWorse = 1.02, kBetter = 0.85;
    const bool some = may_fit(bad), most = 2 * bad.explained > beyond.size();
    const bool fits = good.explained == healthy.size() && good.off <= kNoWorse * healthy_off &&
                      (most || (some && good.off < kBetter * healthy_off));
    return {bad.explained, bad.off + good.off, fits};
  }
};

std::vector<std::string> First(const std::vector<std::string>& layers) {
  return {layers.begin(), layers.begin() + static_cast<int64_t>(std::min(kSample, layers.size()))};
}

}  // namespace

const Int8Weights& WeightsOf(const Int8WeightsOf& all, const Layer& layer) {
  static const Int8Weights usual;
  const auto alone = all.layers.find(layer.index);
  if (alone != all.layers.end()) return alone->second;
  const auto found = all.operators.find(layer.type);
  return found == all.operators.end() ? usual : found->second;
}

// Weights have no part in values that saturate, nor in steps without a bound.
bool IsBeyondWeights(const LayerReport& layer) {
  const OutputReport* worst = layer.Worst();
  if (worst != nullptr && !worst->one_sided.empty()) return false;  // whatever the weights
  return layer.verdict == Verdict::kWrong || (layer.verdict == Verdict::kGrey && worst != nullptr && worst->excess > 1);
}

std::string Describe(const Int8WeightsOf& weights) {
  std::map<std::string, std::string> types;  // by what is said of them
  for (const auto& [type, of_type] : weights.operators) {
    std::string& alike = types[Describe(of_type)];
    alike += (alike.empty() ? "" : ", ") + type;
  }
  std::string text;
  for (const auto& [said, alike] : types) text += fmt::format("{}: {}; ", alike, said);
  return text + (text.empty() ? "" : "others: ") + Describe(Int8Weights());
}

Result<TiedWeights> RoundWeights(const Int8WeightsOf& how, const std::vector<RoundedLayer>& layers, Graph* graph) {
  TiedWeights ties;
  for (size_t i = 0; i < graph->layers.size(); ++i) {
    Layer& layer = graph->layers[i];
    const Int8Weights& weights = WeightsOf(how, layer);
    if (!layers[i].rounded || !IsProduct(layer) || weights.steps == 0) continue;
    const WeightFormat format = FormatOf(weights);
    PLUMB_RETURN_IF_ERROR(RoundBias(weights, layers[i], &layer));
    const auto resource = layer.resources.find("weight");
    if (resource != layer.resources.end()) {
      Tensor tied = WeightsNextToTies(format, layer, layers[i].folded, resource->second);
      if (!tied.empty()) ties[layer.index] = std::move(tied);
      PLUMB_RETURN_IF_ERROR(Round(format, layer, layers[i].folded, &resource->second));
    }
    for (const std::string& input : layer.inputs) {
      const auto constant = graph->constants.find(input);
      if (constant != graph->constants.end())
        PLUMB_RETURN_IF_ERROR(Round(format, layer, layers[i].folded, &constant->second));
    }
  }
  return ties;
}

std::map<std::string, ProductSteps> ProductStepsOf(const Graph& graph, const RunReport& run) {
  std::map<int, std::string> products;  // by layer
  for (const Layer& layer : graph.layers) {
    if (IsProduct(layer)) products[layer.index] = layer.type;
  }
  std::map<std::string, ProductSteps> steps;
  for (const LayerReport& layer : run.layers) {
    const auto& members = layer.step.members;
    const auto product =
        std::find_if(members.begin(), members.end(), [&](const MemberInfo& m) { return products.count(m.index) != 0; });
    if (product == members.end() || layer.verdict == Verdict::kNotTested) continue;
    ProductSteps& of_type = steps[products[product->index]];
    (IsBeyondWeights(layer) ? of_type.beyond : of_type.healthy).push_back(layer.step.name);
  }
  return steps;
}

Result<Int8WeightsOf> FindInt8Weights(const Graph& graph, const RunReport& usual, const JudgeLayers& judge) {
  std::map<std::string, Sample> samples;
  std::map<std::string, Fit> best;
  std::vector<std::string> beyond;
  for (const auto& [type, steps] : ProductStepsOf(graph, usual)) {
    Sample& sample = samples[type] = {First(steps.beyond), First(steps.healthy)};
    sample.healthy_off = FitOf(sample.healthy, usual).off;
    best[type] = sample.Judge(FitOf(sample.beyond, usual), FitOf(sample.healthy, usual));
    beyond.insert(beyond.end(), sample.beyond.begin(), sample.beyond.end());
  }
  Int8WeightsOf found;
  if (beyond.empty()) return found;
  // Those that are healthy are asked of weights that explain one beyond.
  const auto try_out = [&](const std::function<Int8Weights(const std::string& type)>& weights_of) -> Status {
    Int8WeightsOf tried;
    for (const auto& [type, sample] : samples) tried.operators[type] = weights_of(type);
    PLUMB_ASSIGN_OR_RETURN(const RunReport run, judge(tried, beyond));
    std::vector<std::string> healthy;
    std::map<std::string, Fit> bad;
    for (const auto& [type, sample] : samples) {
      const Fit fit = FitOf(sample.beyond, run);
      if (!sample.may_fit(fit)) continue;
      bad[type] = fit;
      healthy.insert(healthy.end(), sample.healthy.begin(), sample.healthy.end());
    }
    if (bad.empty()) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const RunReport others, judge(tried, healthy));
    for (const auto& [type, of_beyond] : bad) {
      const Fit fit = samples.at(type).Judge(of_beyond, FitOf(samples.at(type).healthy, others));
      if (!fit.IsBetterThan(best[type])) continue;
      best[type] = fit;
      found.operators[type] = tried.operators.at(type);
    }
    return Status::Ok();
  };
  for (size_t i = 1; i < Int8Choices().size(); ++i) {  // the first are the usual ones
    PLUMB_RETURN_IF_ERROR(try_out([&](const std::string&) { return Int8Choices()[i]; }));
  }
  PLUMB_RETURN_IF_ERROR(try_out([&](const std::string& type) {
    const auto of_type = found.operators.find(type);
    Int8Weights weights = of_type == found.operators.end() ? Int8Weights() : of_type->second;
    weights.int32_bias = true;
    return weights;
  }));
  return found;
}

Int8WeightsOf UnknownWhereMostAreBeyond(const Graph& graph, const RunReport& run, Int8WeightsOf found) {
  const std::map<std::string, ProductSteps> all = ProductStepsOf(graph, run);
  size_t judged = 0, beyond = 0;
  for (const auto& [type, steps] : all) judged += steps.judged(), beyond += steps.beyond.size();
  if (judged < 2 || 2 * beyond <= judged) return found;
  for (const auto& [type, steps] : all) {
    if (2 * steps.beyond.size() > steps.judged()) found.operators[type].steps = 0;
  }
  return found;
}

}  // namespace plumb
