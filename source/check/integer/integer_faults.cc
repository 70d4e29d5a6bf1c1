// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_faults.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "check/integer/cut_group.h"
#include "check/integer/fused_part.h"
#include "check/integer/integer_rules.h"
#include "check/integer/step_reader.h"
#include "check/integer/step_sources.h"
#include "check/numbers/replay.h"
#include "op/quantize_linear.h"

namespace plumb {
namespace {

constexpr size_t kOneOf = 50;                  // integers may be another kernel's
constexpr int64_t kMostForAllRules = 1 << 16;  // integers; beyond, a fault is tried by two rules

// One quantised tensor that follows no rule.
class Naming {
 public:
  Naming(const Scene& scene, const StepRecord& record, size_t output)
      : scene_(scene), record_(record), runtime_(MadeForOf(scene)) {
    const QuantisedOutput quantised = QuantisedOutputOf(scene, record, output);
    blob_ = quantised.blob;
    written_ = quantised.written;
    if (!blob_.empty()) Order(quantised.integers);
  }

  std::string Name() {
    if (device_.empty()) return "";
    std::vector<CutGroup> parts;
    const auto fused = runtime_ == MadeFor::kTnn ? FusedPartOf(record_.group, record_.inputs, blob_) : std::nullopt;
    if (fused.has_value()) parts.push_back(fused->part);
    parts.push_back(PartThatMakes(scene_, record_, blob_));
    for (const CutGroup& part : parts) {
      const auto reals = off_ > 0 ? Reals(part) : std::nullopt;
      if (reals.has_value() && IsOneInteger(*reals))
        return fmt::format("computed with {} everywhere; the graph says other integers", device_[0]);
      if (reals.has_value()) TryReals(*reals);
    }
    for (const CutGroup& part : parts) {
      if (off_ > 0) TrySteps(part);
    }
    if (best_.empty() || !Explains()) {
      const std::string moved = step_.has_value() ? NameMovedOf(*step_) : "";
      return moved.empty() ? "" : fmt::format("computed {}", moved);
    }
    return fmt::format("computed {}", best_);
  }

  // None where a rule explains nearly all: its factor may have few bits.
  std::string NameFactor() const {
    if (device_.empty()) return "";
    const CutGroup part = PartThatMakes(scene_, record_, blob_);
    const auto reals = Reals(part);
    const std::string factor = reals.has_value() ? NameRealFactor(*reals, device_) : "";
    const auto step = ReadIntegerStep(scene_, part.group, part.inputs, blob_);
    const bool by_rule = step.ok() && OffByRules(*step) * kOneOf <= device_.size();
    return factor.empty() || by_rule ? "" : fmt::format("computed {}; the graph says as it is", factor);
  }

 private:
  // The device's integers in the order in which the QuantizeLinear makes them.
  void Order(const Tensor& device) {
    const BlobInfo& info = scene_.blobs->at(blob_);
    auto places = Tensor::Create(DType::kI64, info.shape);
    if (!places.ok()) return;
    std::iota(places->data<int64_t>(), places->data<int64_t>() + places->NumElements(), 0);
    const auto moved = MovedIntegers(scene_, record_, blob_, written_, *places);
    if (!moved.ok() || moved->NumElements() != device.NumElements() || places->NumElements() != device.NumElements())
      return;
    std::vector<int64_t> ordered(static_cast<size_t>(device.NumElements()));
    for (int64_t i = 0; i < device.NumElements(); ++i) {
      const auto at = static_cast<uint64_t>(moved->data<int64_t>()[i]);
      if (at >= ordered.size()) return;
      ordered[at] = device.data<int64_t>()[i];
    }
    device_ = std::move(ordered);
    healthy_ = device_.size();
  }

  size_t Off(const int64_t* integers, size_t count) const {
    if (count != device_.size()) return device_.size();
    size_t off = 0;
    for (size_t i = 0; i < count; ++i) off += integers[i] != device_[i] ? 1 : 0;
    return off;
  }

  // The fewest integers that differ, by any rule of the form.
  size_t OffByRules(const IntegerStep& step) const {
    size_t least = device_.size();
    size_t tried = 0;
    std::vector<int64_t> integers(static_cast<size_t>(step.shape.NumElements()));
    for (const IntegerRule& rule : AllIntegerRules(runtime_)) {
      if (rule.form != step.form || !rule.replay(step, &integers)) continue;
      if (step.tail_layers.empty()) {
        least = std::min(least, Off(integers.data(), integers.size()));
      } else if (const auto behind = BehindTail(step, *scene_.blobs, integers); behind.ok()) {
        least = std::min(least, Off(behind->data<int64_t>(), static_cast<size_t>(behind->NumElements())));
      }
      if (least == 0 || (step.shape.NumElements() > kMostForAllRules && ++tried == 2)) break;
    }
    return least;
  }

  void Take(size_t off, const std::string& words) {
    if (off >= off_) return;
    off_ = off;
    best_ = words;
  }

  // What became of the integers of one of the rules, behind the tail.
  std::string NameMovedOf(const IntegerStep& step) const {
    std::vector<Tensor> rights;
    std::vector<int64_t> integers(static_cast<size_t>(step.shape.NumElements()));
    for (const IntegerRule& rule : AllIntegerRules(runtime_)) {
      if (rule.form != step.form || !rule.replay(step, &integers)) continue;
      auto behind = BehindTail(step, *scene_.blobs, integers);
      if (behind.ok()) rights.push_back(std::move(*behind));
    }
    using Namer = std::string (*)(const Shape&, const std::vector<int64_t>&, int64_t, const std::vector<int64_t>&);
    const Namer few = [](const Shape&, const std::vector<int64_t>& right, int64_t, const std::vector<int64_t>& device) {
      return NameFew(right, device);
    };
    for (const Namer name : {Namer(NameMoved), Namer(NameChannels), few}) {
      for (const Tensor& right : rights) {
        const int64_t* first = right.data<int64_t>();
        const std::string words = name(right.shape(), {first, first + right.NumElements()}, step.zero, device_);
        if (!words.empty()) return words;
      }
    }
    return "";
  }

  void TrySteps(const CutGroup& part) {
    auto step = ReadIntegerStep(scene_, part.group, part.inputs, blob_);
    if (!step.ok()) return;
    NoteWritten(device_, &*step);
    step_ = *step;
    healthy_ = std::min(healthy_, OffByRules(*step));
    for (const auto* faults : {&ValueFaults(), &OperandFaults(), &WindowFaults(), &ProductFaults()}) {
      for (const StepFault& fault : *faults) {
        IntegerStep faulty = *step;
        if (off_ == 0 || !fault.change(&faulty, *scene_.blobs)) continue;
        const auto words = fault.words != nullptr ? fault.words(*step)
                                                  : std::pair<std::string, std::string>(fault.computed, fault.says);
        Take(OffByRules(faulty), fmt::format("{}; the graph says {}", words.first, words.second));
      }
    }
  }

  // In steps of the result; nothing: they are not known.
  std::optional<QuantisedReals> Reals(const CutGroup& part) const {
    const int maker = MakerIn(part.group, blob_);
    if (maker < 0) return std::nullopt;
    const Layer& quantize = *part.group.members[static_cast<size_t>(maker)];
    const std::vector<float> scales = ChannelScalesOf(scene_, quantize.inputs[1]);
    const auto scale = scales.empty() ? OneNumber(scene_, quantize.inputs[1]) : static_cast<double>(scales[0]);
    const auto zero = quantize.inputs.size() > 2 ? SameNumber(scene_, quantize.inputs[2]) : std::optional<double>(0);
    std::vector<BlobInfo> infos;
    for (const std::string& blob : quantize.inputs) infos.push_back(scene_.blobs->at(blob));
    const auto range = ResolveQuant(quantize, infos);
    const CutGroup front = CutTo(part.group, part.inputs, {quantize.inputs[0]});
    if (!scale.has_value() || !zero.has_value() || !range.ok() || front.group.outputs.size() != 1) return std::nullopt;
    const auto replay = ReplayValues(front.group, front.inputs, *scene_.blobs);
    if (!replay.ok() || replay->values[0].dtype() != DType::kF64) return std::nullopt;
    QuantisedReals reals{{}, static_cast<int64_t>(*zero), range->low, range->high, HasOwnRules(runtime_)};
    for (int64_t i = 0; i < replay->values[0].NumElements(); ++i) {
      const auto own = ScaleAt(scales, static_cast<float>(*scale), replay->values[0].shape(), i);
      reals.steps.push_back(replay->values[0].data<double>()[i] / (scales.empty() ? *scale : static_cast<double>(own)));
      if (!(std::fabs(reals.steps.back()) < 0x1p40)) return std::nullopt;
    }
    return reals.steps.size() == device_.size() ? std::optional<QuantisedReals>(reals) : std::nullopt;
  }

  void TryReals(const QuantisedReals& reals) {
    std::vector<int64_t> integers(device_.size());
    const auto off_by = [&](int64_t (*integer)(const QuantisedReals&, double)) {
      for (size_t i = 0; i < integers.size(); ++i) integers[i] = integer(reals, reals.steps[i]);
      return Off(integers.data(), integers.size());
    };
    healthy_ = std::min(healthy_, off_by([](const QuantisedReals& r, double v) {
                          const double rounded = r.away_from_zero ? std::round(v) : std::nearbyint(v);
                          return std::clamp(static_cast<int64_t>(rounded) + r.zero, r.low, r.high);
                        }));
    for (const RealFault& fault : RealFaults(reals.away_from_zero))
      Take(off_by(fault.integer), fmt::format("{}; the graph says {}", fault.computed, fault.says));
  }

  // Where several are right: every fault that leaves one is the same.
  bool IsOneInteger(const QuantisedReals& reals) const {
    constexpr size_t kFewest = 2;
    if (device_.size() < kFewest ||
        std::any_of(device_.begin(), device_.end(), [&](int64_t q) { return q != device_[0]; }))
      return false;
    std::set<int64_t> right;
    for (const double v : reals.steps) {
      right.insert(std::clamp(static_cast<int64_t>(std::nearbyint(v)) + reals.zero, reals.low, reals.high));
      if (right.size() >= kFewest) return true;
    }
    return false;
  }

  // All integers, or nearly all and far more than without the fault; few may be anybody's.
  bool Explains() const {
    constexpr size_t kTimes = 8, kFewest = 2;
    return off_ < healthy_ && healthy_ >= kFewest &&
           (off_ == 0 || (off_ * kTimes <= healthy_ && off_ * kOneOf <= device_.size()));
  }

  const Scene& scene_;
  const StepRecord& record_;
  const MadeFor runtime_;
  std::string blob_, written_;
  std::vector<int64_t> device_;
  size_t healthy_ = 0, off_ = SIZE_MAX;  // integers that differ: without a fault, and by the best one
  std::string best_;
  std::optional<IntegerStep> step_;
};

}  // namespace

double BitsOfDifference(const StepRecord& record, size_t output) {
  const Tensor& device = record.device[output];
  if (device.dtype() != DType::kI64 || output >= record.replay.values.size()) return INFINITY;
  const Tensor& right = record.replay.values[output];
  if (right.dtype() != DType::kI64 || right.shape() != device.shape()) return INFINITY;
  double differing = 0, bits = 0;
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    const int64_t apart = device.data<int64_t>()[i] - right.data<int64_t>()[i];
    if (apart == 0) continue;
    ++differing;
    bits += std::log2(2 * std::fabs(static_cast<double>(apart)));
  }
  const auto all = static_cast<double>(device.NumElements());
  const double ways = std::lgamma(all + 1) - std::lgamma(differing + 1) - std::lgamma(all - differing + 1);
  constexpr double kFewestOfAll = 3;
  if (differing > 0 && all < kFewestOfAll) return 0;  // a scale or two of the output fit them
  const double of_one = differing == 1 ? 7 : 0;       // a single integer fits too easily
  return differing == 0 ? INFINITY : bits + ways / std::log(2.0) - of_one;
}

std::string NameIntegerFault(const Scene& scene, const StepRecord& record, size_t output) {
  constexpr double kFewestBits = 7;
  if (BitsOfDifference(record, output) < kFewestBits) return "";
  return Naming(scene, record, output).Name();
}

std::string NameIntegerFactor(const Scene& scene, const StepRecord& record, size_t output) {
  return Naming(scene, record, output).NameFactor();
}

}  // namespace plumb
