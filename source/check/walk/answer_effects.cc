// SPDX-License-Identifier: Apache-2.0
#include "check/walk/answer_effects.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "check/core/inspect.h"
#include "check/core/scores.h"

namespace plumb {
namespace {

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Empty where one of the values is not finite.
std::vector<double> Difference(const Tensor& a, const Tensor& b) {
  std::vector<double> difference(static_cast<size_t>(a.NumElements()));
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const double d = a.ValueAt(i) - b.ValueAt(i);
    if (!std::isfinite(d)) return {};
    difference[static_cast<size_t>(i)] = d;
  }
  return difference;
}

double MaxAbs(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

int64_t TopOf(const Tensor& scores) { return TopIndices(scores, 1)[0]; }

int64_t TopOfSum(const Tensor& scores, const std::vector<double>& error) {
  size_t best = 0;
  const auto at = [&](size_t i) { return scores.ValueAt(static_cast<int64_t>(i)) + error[i]; };
  for (size_t i = 1; i < error.size(); ++i) best = at(i) > at(best) ? i : best;
  return static_cast<int64_t>(best);
}

// The output among those that a device computed again, or null; what it does not compute again stays as it was.
const Tensor* FindIn(const std::map<std::string, Tensor>& outputs, const OutputSummary& output) {
  const auto found = outputs.find(output.name);
  if (found == outputs.end()) return &output.device;
  return found->second.shape() == output.device.shape() ? &found->second : nullptr;
}

// Two classes that changed places.
struct Flip {
  bool is = false;
  size_t expected = 0, found = 0;
  double By(const std::vector<double>& error) const { return is ? error[found] - error[expected] : 0; }
};

Flip FlipOf(const OutputSummary& output) {
  if (!IsScoreVector(output.device.shape())) return {};
  Flip flip;
  flip.expected = static_cast<size_t>(TopOf(output.reference));
  flip.found = static_cast<size_t>(TopOf(output.device));
  flip.is = flip.expected != flip.found;
  return flip;
}

// Whether the reference could go on from what the device wrote.
bool HasItsShapes(const StepRecord& record) {
  if (record.device.size() != record.info.outputs.size()) return false;
  for (size_t i = 0; i < record.device.size(); ++i) {
    if (record.device[i].shape() != record.info.outputs[i].shape) return false;
  }
  return true;
}

}  // namespace

void AnswerEffects::RunStep(const LayerGroup& group, const BlobTable& blobs, const std::vector<Tensor>& constants) {
  const auto run = [&](OwnRun* fork) {
    const std::vector<Tensor> inputs = fork->InputsOf(group, blobs, constants);
    return inputs.size() == group.inputs.size() && fork->Run(group, inputs, blobs).ok();
  };
  for (Fork& fork : forks_) fork.lost = fork.lost || !run(&fork.with) || !run(&fork.healed);
}

void AnswerEffects::NoteStep(size_t position, const StepRecord& record, const BlobTable& blobs, bool waits) {
  const std::vector<Tensor>& replay = record.replay.values;
  if (!HasItsShapes(record)) return NoteUnknown(record.group);
  const auto like = [waits](const Fork& fork) { return fork.waits == waits; };
  const bool follow = std::count_if(forks_.begin(), forks_.end(), like) < static_cast<ptrdiff_t>(kMaxLayers);
  if (record.report.verdict == Verdict::kWrong && replay.size() == record.device.size() && follow) {
    Fork fork;
    fork.position = position;
    fork.waits = waits;
    std::map<std::string, Tensor> written;
    for (size_t i = 0; i < replay.size(); ++i) written[record.group.outputs[i].blob] = record.device[i];
    for (const auto* known : {&inputs_, &device_})
      fork.lost = fork.lost || !fork.with.SetInputs(*known).ok() || !fork.healed.SetInputs(*known).ok();
    fork.lost = fork.lost || !fork.with.SetInputs(written).ok();
    if (record.changed.empty()) {
      fork.healed.Take(record.group, replay);
    } else {  // from what its layers wrote; the replay is of what it read
      const std::vector<Tensor> inputs = fork.healed.InputsOf(record.group, blobs, record.inputs);
      fork.lost = fork.lost || inputs.size() != record.group.inputs.size() ||
                  !fork.healed.Run(record.group, inputs, blobs).ok();
    }
    if (rest_) {
      fork.blobs = inputs_;
      for (const auto& [blob, value] : device_) fork.blobs[blob] = value;
      for (const LayerGroup::Port& port : record.group.outputs) {
        fork.writes.push_back(port.blob);
        const Tensor* value = fork.healed.Find(port.blob);
        if (value != nullptr) fork.blobs[port.blob] = *value;
      }
    }
    forks_.push_back(std::move(fork));
  }
  for (size_t i = 0; i < record.device.size(); ++i) device_[record.group.outputs[i].blob] = record.device[i];
}

void AnswerEffects::NoteUnknown(const LayerGroup& group) {
  for (const LayerGroup::Port& port : group.outputs) device_.erase(port.blob);
}

std::vector<ForkedBlob> AnswerEffects::Forked(const std::string& blob) const {
  std::vector<ForkedBlob> forked;
  for (const Fork& fork : forks_) {
    const Tensor *with = fork.with.Find(blob), *healed = fork.healed.Find(blob);
    if (!fork.lost && with != nullptr && healed != nullptr && with->shape() == healed->shape())
      forked.push_back({fork.position, with, healed});
  }
  return forked;
}

void AnswerEffects::Release(const std::string& blob) {
  inputs_.erase(blob);
  device_.erase(blob);
  for (Fork& fork : forks_) {
    fork.with.Release(blob);
    fork.healed.Release(blob);
  }
}

std::optional<AnswerEffects::Outputs> AnswerEffects::Healed(const Fork& fork) const {
  if (!rest_ || fork.lost) return std::nullopt;
  auto outputs = rest_(fork.position, fork.blobs);
  if (!outputs.ok()) return std::nullopt;
  for (const std::string& blob : fork.writes) {  // it may be a network output itself
    const Tensor* value = fork.healed.Find(blob);
    if (value != nullptr) outputs->emplace(blob, *value);
  }
  return std::move(outputs).value();
}

OutputEffect AnswerEffects::EffectOn(const RunReport& run, const OutputSummary& output,
                                     const std::vector<std::optional<Outputs>>& healed_outputs) const {
  OutputEffect effect;
  const std::vector<double> error = Difference(output.device, output.reference);
  const double whole = Dot(error, error);
  if (error.empty() || !(whole > 0) || !std::isfinite(whole)) return effect;
  const bool scores = IsScoreVector(output.device.shape());
  const Flip flip = FlipOf(output);
  if (flip.is) {
    effect.margin = output.reference.ValueAt(static_cast<int64_t>(flip.expected)) -
                    output.reference.ValueAt(static_cast<int64_t>(flip.found));
    effect.moved = flip.By(error);
  }
  effect.max_abs = MaxAbs(error);
  effect.others = 1;
  std::vector<double> left = error;
  for (size_t f = 0; f < forks_.size(); ++f) {
    const Fork& fork = forks_[f];
    if (run.layers[fork.position].verdict != Verdict::kWrong) continue;
    const Tensor *with = fork.with.Find(output.name), *healed = fork.healed.Find(output.name);
    if (fork.lost || with == nullptr || healed == nullptr || with->shape() != output.device.shape()) continue;
    const std::vector<double> part = Difference(*with, *healed);
    if (part.empty()) continue;
    LayerEffect layer;
    layer.step = run.layers[fork.position].step;
    layer.share = Dot(part, error) / whole;
    layer.max_abs = MaxAbs(part);
    layer.margin = flip.By(part);
    const Tensor* by_device = healed_outputs[f] ? FindIn(*healed_outputs[f], output) : nullptr;
    layer.healed_by_device = by_device != nullptr;
    const Tensor& answer = by_device != nullptr ? *by_device : *healed;
    const std::vector<double> rest = Difference(answer, output.reference);
    layer.left = rest.empty() ? INFINITY : std::sqrt(Dot(rest, rest) / whole);
    if (scores) layer.top1_healed = TopOf(answer);
    effect.others -= layer.share;
    for (size_t i = 0; i < left.size(); ++i) left[i] -= part[i];
    effect.layers.push_back(layer);
  }
  effect.others_max_abs = MaxAbs(left);
  if (scores) effect.top1_without = TopOfSum(output.reference, left);
  effect.others_margin = flip.By(left);
  effect.others_wrong = run.Count(Verdict::kWrong) - static_cast<int>(effect.layers.size());
  std::stable_sort(effect.layers.begin(), effect.layers.end(),
                   [](const LayerEffect& a, const LayerEffect& b) { return std::fabs(a.share) > std::fabs(b.share); });
  return effect;
}

void AnswerEffects::Finish(const RunReport& run, std::vector<OutputSummary>* outputs) const {
  std::vector<std::optional<Outputs>> healed;
  for (const Fork& fork : forks_) {
    const bool wrong = run.layers[fork.position].verdict == Verdict::kWrong;
    healed.push_back(wrong ? Healed(fork) : std::nullopt);
  }
  for (OutputSummary& output : *outputs) {
    const bool both = !output.reference.empty() && output.device.shape() == output.reference.shape();
    if (both && IsFloat(output.reference.dtype())) output.effect = EffectOn(run, output, healed);
  }
}

void SettleEffects(RunReport* run) {
  std::set<std::pair<int, std::string>> wrong_steps;
  for (const LayerReport& layer : run->layers) {
    if (layer.verdict == Verdict::kWrong) wrong_steps.emplace(layer.step.index, layer.step.name);
  }
  const auto is_wrong = [&wrong_steps](const StepInfo& step) {
    return wrong_steps.count({step.index, step.name}) != 0;
  };
  for (OutputSummary& output : run->outputs) {
    OutputEffect& effect = output.effect;
    std::vector<LayerEffect> wrong;
    for (const LayerEffect& layer : effect.layers) {
      if (is_wrong(layer.step)) {
        wrong.push_back(layer);
        continue;
      }
      effect.others += layer.share;
      effect.others_margin += layer.margin;
      effect.others_max_abs = std::max(effect.others_max_abs, layer.max_abs);
    }
    effect.layers = std::move(wrong);
    effect.others_wrong = run->Count(Verdict::kWrong) - static_cast<int>(effect.layers.size());
  }
  for (ChoiceReport& choice : run->choices) {
    std::vector<ChoiceCause> wrong;
    for (const ChoiceCause& cause : choice.layers)
      is_wrong(cause.step) ? wrong.push_back(cause) : static_cast<void>(choice.by_rounding += cause.choices);
    choice.layers = std::move(wrong);
    if (run->Count(Verdict::kWrong) > 0) continue;
    choice.by_rounding += choice.unexplained;  // of layers that were not followed, and are right in this arithmetic
    choice.unexplained = 0;
    choice.margin = choice.reach = 0;  // of another arithmetic
  }
}

}  // namespace plumb
