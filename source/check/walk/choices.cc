// SPDX-License-Identifier: Apache-2.0
#include "check/walk/choices.h"

#include <algorithm>
#include <cmath>

#include "check/core/inspect.h"
#include "check/walk/rounding_reach.h"

namespace plumb {

struct Choices::Place {
  ChoiceRows rows;
  size_t scores = 0, chosen = 0;  // the group's input and output
};

struct Choices::Compared {
  const Tensor *own_scores, *own_chosen, *device_scores, *device_chosen, *replay_chosen;
  const Tensor* guided_scores;
  Tensor guided_chosen;     // empty: where the own run is the guided one
  std::vector<double> off;  // of the scores, by rounding; empty: not known
};

namespace {

constexpr int64_t kRow = 32;  // scores of a row that tell its errors' size alone

bool SameShape(const Tensor* a, const Tensor& b) { return a != nullptr && a->shape() == b.shape(); }

double Rms(const std::vector<double>& values, const ChoiceRows& rows, int64_t row) {
  double sum = 0;
  for (int64_t i = 0; i < rows.size; ++i) {
    const double value = values[static_cast<size_t>(rows.ScoreAt(row, i))];
    sum += value * value;
  }
  return std::sqrt(sum / static_cast<double>(std::max<int64_t>(rows.size, 1)));
}

double RmsOfAll(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(values.size(), 1)));
}

std::vector<int64_t> ElementsBut(const std::vector<int64_t>& all, const std::vector<int64_t>& some) {
  std::vector<int64_t> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

// Two elements of a row, and how far the first leads in some scores.
struct ChoicePair {
  const ChoiceRows& rows;
  int64_t row, left_out, taken;
  double Lead(const Tensor& scores) const {
    return rows.sign * (scores.ValueAt(rows.ScoreAt(row, left_out)) - scores.ValueAt(rows.ScoreAt(row, taken)));
  }
};

ChoicePair HardestPair(const ChoiceRows& rows, int64_t row, const Tensor& scores, const std::vector<int64_t>& left_out,
                       const std::vector<int64_t>& taken) {
  const auto less = [&](int64_t a, int64_t b) {
    return rows.sign * scores.ValueAt(rows.ScoreAt(row, a)) < rows.sign * scores.ValueAt(rows.ScoreAt(row, b));
  };
  return {rows, row, *std::max_element(left_out.begin(), left_out.end(), less),
          *std::min_element(taken.begin(), taken.end(), less)};
}

}  // namespace

void Choices::Begin(const std::vector<const StepInfo*>& steps, const BlobTable& blobs, bool exact) {
  blobs_ = &blobs;
  exact_ = exact;
  for (size_t i = 0; i < steps.size(); ++i) {
    const LayerGroup& group = GroupOf(*steps[i]);
    const std::vector<std::string>& reads = group.first().inputs;
    if (!reads.empty() && ChoiceRows::Of(group.members, blobs.at(reads[0]).shape)) end_ = i + 1;
  }
}

Status Choices::SetInputs(const std::map<std::string, Tensor>& inputs) {
  return end_ > 0 ? moved_.SetInputs(inputs) : Status::Ok();
}

void Choices::Release(const std::string& blob) {
  moved_.Release(blob);
  if (guided_) guided_->Release(blob);
}

std::optional<Choices::Place> Choices::PlaceOf(const StepRecord& record) const {
  const LayerGroup& group = record.group;
  if (record.device.size() != group.outputs.size()) return std::nullopt;
  Place place;
  const auto reads = std::find_if(group.inputs.begin(), group.inputs.end(),
                                  [](const auto& port) { return port.member == 0 && port.slot == 0; });
  if (reads == group.inputs.end()) return std::nullopt;
  place.scores = static_cast<size_t>(reads - group.inputs.begin());
  const Tensor& scores = record.inputs[place.scores];
  const auto rows = ChoiceRows::Of(group.members, scores.shape());
  if (!rows || rows->count() == 0) return std::nullopt;
  place.rows = *rows;
  const auto says = std::find_if(group.outputs.begin(), group.outputs.end(),
                                 [&](const auto& port) { return port.slot == place.rows.slot; });
  if (says == group.outputs.end()) return std::nullopt;
  place.chosen = static_cast<size_t>(says - group.outputs.begin());
  const int64_t values = record.device[place.chosen].NumElements();
  place.rows.k = place.rows.marks ? 1 : values / place.rows.count();
  const bool fits = values == place.rows.count() * (place.rows.marks ? place.rows.size : place.rows.k);
  return fits ? std::optional<Place>(place) : std::nullopt;
}

void Choices::NoteStep(size_t position, const StepRecord& record, const OwnRun& own, const AnswerEffects& effects,
                       bool waits) {
  if (position >= end_) return;
  const std::optional<Place> place = PlaceOf(record);
  const LayerGroup& group = record.group;
  if (place) {
    const std::string& scores = group.inputs[place->scores].blob;
    Compared compared;
    compared.own_scores = own.Find(scores);
    compared.own_chosen = own.Find(group.outputs[place->chosen].blob);
    compared.device_scores = &record.inputs[place->scores];
    compared.device_chosen = &record.device[place->chosen];
    const bool replayed = record.replay.values.size() == record.device.size();
    compared.replay_chosen = replayed ? &record.replay.values[place->chosen] : nullptr;
    compared.guided_scores = guided_ ? guided_->Find(scores) : compared.own_scores;
    if (SameShape(compared.own_scores, *compared.device_scores) &&
        SameShape(compared.guided_scores, *compared.device_scores) &&
        SameShape(compared.own_chosen, *compared.device_chosen)) {
      if (guided_) {
        OwnRun chooses = *guided_;
        Advance(record, std::nullopt, &chooses);
        const Tensor* chosen = chooses.Find(group.outputs[place->chosen].blob);
        if (SameShape(chosen, *compared.device_chosen)) compared.guided_chosen = *chosen;
      }
      const Tensor* moved = moved_.Find(scores);
      if (SameShape(moved, *compared.device_scores)) {
        compared.off.resize(static_cast<size_t>(moved->NumElements()));
        for (int64_t i = 0; i < moved->NumElements(); ++i) {
          const double off = moved->ValueAt(i) - compared.guided_scores->ValueAt(i);
          compared.off[static_cast<size_t>(i)] = std::isfinite(off) ? off : 0;  // what is masked by -inf does not move
        }
      }
      Step step;
      step.position = position;
      Compare(*place, compared, effects.Forked(scores), &step);
      if (step.changed > 0 && !guided_) guided_ = own;
      steps_.push_back(std::move(step));
    }
  }
  if (guided_) Advance(record, place, &*guided_);
  Advance(record, place, &moved_);
  if (!place) AddRounding(position, record, waits);
}

void Choices::Compare(const Place& place, const Compared& compared, const std::vector<ForkedBlob>& forks,
                      Step* step) const {
  const ChoiceRows& rows = place.rows;
  const double all = RmsOfAll(compared.off);
  for (const ForkedBlob& fork : forks) step->forks.push_back(fork.position);
  step->choices = rows.count();
  for (int64_t row = 0; row < rows.count(); ++row) {
    const std::vector<int64_t> right = rows.ChosenIn(*compared.own_chosen, row);
    const std::vector<int64_t> found = rows.ChosenIn(*compared.device_chosen, row);
    if (right == found) continue;
    ++step->changed;
    if (step->rows.size() == kMostFollowed) continue;
    Changed changed;
    changed.against_scores = compared.replay_chosen != nullptr && rows.ChosenIn(*compared.replay_chosen, row) != found;
    const std::vector<int64_t> left_out = ElementsBut(right, found), taken = ElementsBut(found, right);
    if (!left_out.empty() && !taken.empty()) {
      const ChoicePair pair = HardestPair(rows, row, *compared.own_scores, left_out, taken);
      changed.margin = pair.Lead(*compared.own_scores);
      changed.moved = changed.margin - pair.Lead(*compared.device_scores);
      changed.margin_here = pair.Lead(*compared.guided_scores);
      const double off = compared.off.empty() ? 0 : Rms(compared.off, rows, row);
      changed.reach = kReachOfPair * (rows.size >= kRow ? off : std::max(off, all));
      changed.follows = !compared.guided_chosen.empty() && rows.ChosenIn(compared.guided_chosen, row) == found;
      for (const ForkedBlob& fork : forks) changed.by_fork.push_back(pair.Lead(*fork.healed) - pair.Lead(*fork.with));
    }
    step->rows.push_back(std::move(changed));
  }
}

void Choices::Advance(const StepRecord& record, const std::optional<Place>& place, OwnRun* run) const {
  const LayerGroup& group = record.group;
  const std::vector<Tensor> inputs = run->InputsOf(group, *blobs_, record.inputs);
  if (inputs.size() != group.inputs.size()) return;
  if (!place) {
    if (!run->Run(group, inputs, *blobs_).ok()) {
      for (const LayerGroup::Port& port : group.outputs) run->Release(port.blob);
    }
    return;
  }
  std::vector<Tensor> values = record.device;
  const Tensor &scores = inputs[place->scores], &chosen = record.device[place->chosen];
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == place->chosen) continue;  // TopK's values, of the elements that the device chose
    auto taken = scores.NumElements() > 0 ? values[i].ConvertedTo(scores.dtype()) : values[i].Clone();
    if (taken.ok() && taken->raw() == values[i].raw()) taken = values[i].Clone();
    if (!taken.ok() || !IsElement<double>(taken->dtype()) || taken->NumElements() != chosen.NumElements()) continue;
    for (int64_t at = 0; at < chosen.NumElements(); ++at) {
      const int64_t row = at / (place->rows.k * place->rows.inner) * place->rows.inner + at % place->rows.inner;
      const auto element = static_cast<int64_t>(chosen.ValueAt(at));
      if (element >= 0 && element < place->rows.size)
        taken->data<double>()[at] = scores.ValueAt(place->rows.ScoreAt(row, element));
    }
    values[i] = std::move(taken).value();
  }
  for (Tensor& value : values) {
    auto wide = Widened(value);
    if (wide.ok()) value = std::move(wide).value();
  }
  run->Take(group, values);
}

std::vector<Tensor> Choices::RightValues(const StepRecord& record) const {
  if (exact_) return record.replay.values;
  const auto plain = ReplayValues(record.group, record.inputs, *blobs_);
  return plain.ok() ? plain->values : record.replay.values;
}

void Choices::AddRounding(size_t position, const StepRecord& record, bool waits) {
  const LayerGroup& group = record.group;
  const std::vector<Tensor> replay = RightValues(record);
  if (replay.size() != record.device.size()) return;
  for (size_t o = 0; o < replay.size(); ++o) {
    const Tensor* value = moved_.Find(group.outputs[o].blob);
    if (value == nullptr || value->dtype() != DType::kF64 || !SameShape(value, replay[o])) continue;
    const bool bounded = o < record.replay.tau.size() && SameShape(&record.replay.tau[o], replay[o]);
    const bool wrong = record.report.verdict == Verdict::kWrong && !waits;
    std::vector<double> off(static_cast<size_t>(replay[o].NumElements()));
    bool any = false;
    for (size_t i = 0; i < off.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const double error = wrong ? 0 : std::fabs(record.device[o].ValueAt(at) - replay[o].ValueAt(at));
      const double tau = bounded ? record.replay.tau[o].ValueAt(at) / 8 : 0;
      off[i] = std::max(std::isfinite(error) ? error : 0, std::isfinite(tau) ? tau : 0);
      any = any || off[i] > 0;
    }
    if (!any) continue;
    auto noisy = value->Clone();
    if (!noisy.ok()) continue;
    for (size_t i = 0; i < off.size(); ++i) noisy->data<double>()[i] += SignByChance(position, o, i) * off[i];
    moved_.Put(group.outputs[o].blob, std::move(noisy).value());
  }
}

void Choices::NoteUnknown(size_t position, const LayerGroup& group, const std::vector<Tensor>& constants) {
  if (position >= end_) return;
  const auto advance = [&](OwnRun* run) {
    const std::vector<Tensor> inputs = run->InputsOf(group, *blobs_, constants);
    if (inputs.size() == group.inputs.size() && run->Run(group, inputs, *blobs_).ok()) return;
    for (const LayerGroup::Port& port : group.outputs) run->Release(port.blob);
  };
  if (guided_) advance(&*guided_);
  advance(&moved_);
}

}  // namespace plumb
