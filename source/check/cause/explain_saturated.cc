// A cause in int8 subjects: x86 without VNNI multiplies u8 by i8 in pairs whose sum saturates at 16 bits (vpmaddubsw),
// as ONNX Runtime and oneDNN do there; they advise weights of 7 bits. Pairs are neighbouring channels, or terms of a
// row.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "check/cause/explainers.h"
#include "check/cause/sample_sums.h"
#include "check/subject/int8.h"
#include "check/subject/int8_weights.h"
#include "check/subject/weight_formats.h"

namespace plumb {
namespace {

constexpr double kSaturatedLeft = 0.25;  // of the squared difference
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

}  // namespace

std::optional<Answer> ExplainAsSaturated(const Question& q) {
  if (q.scene.model->blobs != DType::kI8 || q.record.device.size() != 1) return std::nullopt;
  const auto& members = q.record.group.members;
  const auto product = std::find_if(members.begin(), members.end(), [](const Layer* m) { return IsProduct(*m); });
  if (product == members.end() || (*product)->Resource("weight") == nullptr) return std::nullopt;
  const Layer& layer = **product;
  const Int8Weights& weights = WeightsOf(q.scene.int8_weights, layer.type);
  const ReplayedStep step = StepOf(q);
  const ProductSample sample = WorstOfMember(step, static_cast<size_t>(product - members.begin()));
  if (weights.steps == 0 || weights.zero_point || sample.sums.size() < kFewestSaturated) return std::nullopt;
  const auto input = sample.input.ConvertedTo(DType::kF32);
  const Grid grid = input.ok() ? FindGrid(*input) : Grid();
  if (grid.none() || grid.few) return std::nullopt;
  const std::vector<double> weight_steps = StepsOf(weights, layer, *layer.Resource("weight"));
  const double lowest = std::nearbyint(-grid.low / grid.step);
  const std::pair<double, bool> ways[] = {{lowest, false}, {lowest, true}, {128, false}, {128, true}};
  for (const auto& [zero, on] : ways) {
    double own = 0, left = 0;
    for (const SampleSum& sum : sample.sums) {
      const double weight_step = weight_steps[static_cast<size_t>(sum.channel)];
      if (weight_step == 0) continue;
      const double off =
          (q.record.device[0].ValueAt(sum.output) - step.replay.values[0].ValueAt(sum.output)) / sum.gain;
      const double change = SaturationOf(sum, grid.step, weight_step, zero, on) * grid.step * weight_step;
      own += off * off;
      left += (off - change) * (off - change);
    }
    if (left < kSaturatedLeft * own)
      return Answer(
          "computed with pairs of 8-bit products that saturate at 16 bits (vpmaddubsw, x86 without VNNI); "
          "the graph says exact sums");
  }
  return std::nullopt;
}

}  // namespace plumb
