// SPDX-License-Identifier: Apache-2.0
// A cause in int8 subjects and behind a graph's own DequantizeLinear: x86 without VNNI multiplies u8 by i8 in pairs
// whose sum saturates at 16 bits (vpmaddubsw), as ONNX Runtime and oneDNN do there; they advise weights of 7 bits.
// Pairs are neighbouring channels, or terms of a row.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "check/cause/explainers.h"
#include "check/cause/known_ways_util.h"
#include "check/cause/sample_sums.h"
#include "check/numbers/int8.h"
#include "check/numbers/int8_weights.h"
#include "check/numbers/weight_formats.h"

namespace plumb {
namespace {

constexpr double kSaturatedLeft = 0.25;  // of the squared difference
constexpr double kUnlikeLeft = 0.1;      // of the integers that differ
constexpr size_t kFewestSaturated = 3;   // sums that tell

// The terms of a sum two by two: of each place of the window the channels, one after the other, and maybe on into the
// next place.
std::vector<std::pair<size_t, size_t>> PairsOf(const SampleSum& sum, bool on) {
  const auto inner = static_cast<size_t>(sum.inner), channels = sum.x.size() / inner;
  std::vector<size_t> order;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t place = 0; place < inner; ++place) {
    for (size_t c = 0; c < channels; ++c) order.push_back(c * inner + place);
    if (on && place + 1 < inner) continue;
    for (size_t i = 0; i + 1 < order.size(); i += 2) pairs.emplace_back(order[i], order[i + 1]);
    order.clear();
  }
  return pairs;
}

// What saturation adds to a sum, in steps of input times steps of weight.
double SaturationOf(const SampleSum& sum, double input_step, double weight_step, double zero, bool on) {
  const auto steps = [](float v, double step) { return std::nearbyint(static_cast<double>(v) / step); };
  const auto product = [&](size_t k) { return (steps(sum.x[k], input_step) + zero) * steps(sum.w[k], weight_step); };
  double change = 0;
  for (const auto& [a, b] : PairsOf(sum, on)) {
    const double pair = product(a) + product(b);
    change += std::clamp(pair, -32768.0, 32767.0) - pair;
  }
  return change;
}

// The input of a product as u8: x = step * (q - zero).
struct EightBits {
  double step = 0;
  std::vector<double> zeros;  // that it may have
};

// Of a runtime that quantised a float model by itself, as the values' grid has it.
EightBits BitsOfValues(const Tensor& input) {
  const auto values = input.ConvertedTo(DType::kF32);
  const Grid grid = values.ok() ? FindGrid(*values) : Grid();
  if (grid.none() || grid.few) return {};
  return {grid.step, {std::nearbyint(-grid.low / grid.step), 128}};
}

// As a DequantizeLinear of the graph says; an i8 becomes a u8 by 128 more.
EightBits BitsOfGraph(const Scene& scene, const Layer& product) {
  const Layer* maker = DequantizerOf(scene, product.inputs[0]);
  if (maker == nullptr) return {};
  const auto number = [&](size_t slot) -> std::optional<double> {
    const auto it = scene.blobs->find(maker->inputs[slot]);
    if (it == scene.blobs->end() || it->second.value.empty() || it->second.value.NumElements() != 1)
      return std::nullopt;
    return it->second.value.ValueAt(0);
  };
  const auto step = number(1), zero = maker->inputs.size() > 2 ? number(2) : std::optional<double>(0);
  if (!step.has_value() || !zero.has_value() || *step == 0) return {};
  return {*step, {*zero, *zero + 128}};
}

// One step for each sum; 0: the channel's weights are no eight bits without a zero point.
std::vector<double> WeightSteps(const Question& q, const Layer& layer, const std::vector<SampleSum>& sums) {
  std::vector<double> steps;
  if (q.scene.model->blobs == DType::kI8) {
    const Int8Weights& weights = WeightsOf(q.scene.int8_weights, layer);
    if (weights.steps == 0 || weights.zero_point) return steps;
    const std::vector<double> of_channels = StepsOf(weights, layer, *layer.Resource("weight"));
    for (const SampleSum& sum : sums) steps.push_back(of_channels[static_cast<size_t>(sum.channel)]);
    return steps;
  }
  for (const SampleSum& sum : sums) {
    auto values = Tensor::Create(DType::kF32, {static_cast<int64_t>(sum.w.size())});
    if (values.ok()) std::copy(sum.w.begin(), sum.w.end(), values->data<float>());
    const Grid grid = values.ok() ? FindGrid(*values) : Grid();
    const bool signed_bits = grid.low >= -128.5 * grid.step && grid.high <= 127.5 * grid.step;
    steps.push_back(grid.none() || grid.few || !signed_bits ? 0 : grid.step);
  }
  return steps;
}

// Whether saturation makes of the replayed outputs the device's. `change`: what it adds to each sum. An integer behind
// QuantizeLinear may be moved by a small change, and is by less than one more than by this. Where fewer than three
// differ, those that do not tell, too: they may not saturate by a step.
bool Explains(const ReplayedStep& step, const std::vector<SampleSum>& sums, const std::vector<double>& change) {
  const bool rounds = step.group.members.back()->kind == OpKind::kPlumbQuantizeLinear;
  double all = 0, left = 0, unmoved = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double off = step.device[0].ValueAt(sums[i].output) - step.replay.values[0].ValueAt(sums[i].output);
    const double rest = off - change[i] * sums[i].gain;
    if (!rounds) {
      all += std::pow(off / sums[i].gain, 2), left += std::pow(rest / sums[i].gain, 2);
    } else if (off != 0) {
      all += 1, left += off * change[i] * sums[i].gain > 0 && std::fabs(rest) < 1 ? 0 : 1;
    } else if (std::fabs(rest) > 1) {
      ++unmoved;
    }
  }
  if (rounds) return all > 0 && left < kUnlikeLeft * all && (all >= kFewestSaturated || unmoved == 0);
  return left < kSaturatedLeft * all;
}

}  // namespace

std::optional<Answer> ExplainAsSaturated(const Question& q) {
  const auto& members = q.record.group.members;
  const auto product = std::find_if(members.begin(), members.end(), [](const Layer* m) { return IsProduct(*m); });
  if (q.record.device.size() != 1 || product == members.end() || (*product)->Resource("weight") == nullptr)
    return std::nullopt;
  const bool own = q.scene.model->blobs == DType::kI8;
  EightBits input = own ? EightBits() : BitsOfGraph(q.scene, **product);
  if (!own && input.step == 0) return std::nullopt;
  const ReplayedStep step = StepOf(q);
  ProductSample sample = WorstOfMember(step, static_cast<size_t>(product - members.begin()));
  if (sample.sums.size() < kFewestSaturated) return std::nullopt;
  if (own) input = BitsOfValues(sample.input);
  const std::vector<double> weight_steps = WeightSteps(q, **product, sample.sums);
  if (input.step == 0 || weight_steps.empty()) return std::nullopt;
  for (const double zero : input.zeros) {
    for (const bool on : {false, true}) {
      std::vector<SampleSum> sums;
      std::vector<double> change;
      for (size_t i = 0; i < sample.sums.size(); ++i) {
        if (weight_steps[i] == 0) continue;
        sums.push_back(sample.sums[i]);
        change.push_back(SaturationOf(sums.back(), input.step, weight_steps[i], zero, on) * input.step *
                         weight_steps[i]);
      }
      if (Explains(step, sums, change))
        return Answer(std::string("computed ") + kSaturatingPairs + "; the graph says exact sums");
    }
  }
  return std::nullopt;
}

}  // namespace plumb
