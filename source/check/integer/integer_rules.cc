// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "check/integer/cut_group.h"
#include "check/integer/stepwise.h"

namespace plumb {
namespace {

// Whether two tensors of integers are the same.
bool AreSame(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Result<Tensor> IntegersBy(const IntegerRule& rule, const IntegerStep& step, const BlobTable& blobs) {
  std::vector<int64_t> integers(static_cast<size_t>(step.shape.NumElements()));
  if (rule.form != step.form || !rule.replay(step, &integers)) return Status::NotSupported("another form");
  return BehindTail(step, blobs, integers);
}

Result<Tensor> IntegersBy(const StepwiseRule& rule, const CutGroup& part, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayStepwise(rule, part.group, part.inputs, blobs));
  return replay.values[0];
}

// Asks `is_it` of the integers of the blob by each rule; the words of the first that is, or "".
template <class F>
std::string FirstOf(const std::vector<IntegerRule>& rules, const Scene& scene, const CutGroup& part,
                    const std::string& blob, F is_it) {
  const auto step = ReadIntegerStep(scene, part.group, part.inputs, blob);
  for (const IntegerRule& rule : rules) {
    const auto integers = step.ok() ? IntegersBy(rule, *step, *scene.blobs) : Result<Tensor>(step.status());
    if (integers.ok() && is_it(*integers)) return rule.words;
  }
  for (const StepwiseRule& rule : StepwiseRules()) {
    const auto integers = IntegersBy(rule, part, *scene.blobs);
    if (integers.ok() && is_it(*integers)) return rule.words;
  }
  return "";
}

// The first blob inside of the part that a QuantizeLinear makes; "": none but `last`.
std::string FirstQuantised(const CutGroup& part, const std::string& last) {
  for (const Layer* member : part.group.members) {
    if (member->kind == OpKind::kPlumbQuantizeLinear && member->outputs[0] != last) return member->outputs[0];
  }
  return "";
}

// The part that makes the blob from integers which are read or, of tensors that the subject has not, which the first
// rule of `family` that applies gives; `known` counts these. Nothing: none applies.
std::optional<CutGroup> PartOf(const std::vector<IntegerRule>& family, const Scene& scene, const StepRecord& record,
                               const std::string& blob, size_t* known_count) {
  std::map<std::string, Tensor> known;
  for (;;) {
    CutGroup part = CutTo(record.group, record.inputs, {blob}, known);
    const std::string inner = FirstQuantised(part, blob);
    *known_count = known.size();
    if (inner.empty()) return part;
    const CutGroup before = CutTo(record.group, record.inputs, {inner}, known);
    const std::string found = FirstOf(family, scene, before, inner, [&](const Tensor& integers) {
      known[inner] = integers;
      return true;
    });
    if (found.empty()) return std::nullopt;
  }
}

bool IsQuantised(const StepRecord& record, size_t output) {
  const int maker = MakerIn(record.group, record.group.outputs[output].blob);
  return maker >= 0 && record.device[output].dtype() == DType::kI64 &&
         record.group.members[static_cast<size_t>(maker)]->kind == OpKind::kPlumbQuantizeLinear;
}

}  // namespace

bool RoundedToRange(const IntegerStep& step, float v, int64_t* whole) {
  if (!(std::fabs(v) <= 0x1.fffffep127f)) return false;
  const float limited =
      std::clamp(v, static_cast<float>(step.low - step.zero), static_cast<float>(step.high - step.zero));
  *whole = static_cast<int64_t>(std::nearbyint(limited));
  return true;
}

const std::vector<IntegerRule>& AllIntegerRules() {
  static const auto* rules = [] {
    auto* all = new std::vector<IntegerRule>(OnnxRuntimeRules());
    const std::vector<IntegerRule> tflite = TfliteRules();
    all->insert(all->end(), tflite.begin(), tflite.end());
    return all;
  }();
  return *rules;
}

std::string FollowedRule(const Scene& scene, const StepRecord& record, size_t output) {
  if (!IsQuantised(record, output)) return "";
  const std::string& blob = record.group.outputs[output].blob;
  const Tensor& device = record.device[output];
  for (const auto& family : {OnnxRuntimeRules(), TfliteRules()}) {
    size_t missing = 0;
    const std::optional<CutGroup> part = PartOf(family, scene, record, blob, &missing);
    if (!part.has_value()) continue;
    const std::string words = FirstOf(AllIntegerRules(), scene, *part, blob,
                                      [&](const Tensor& integers) { return AreSame(integers, device); });
    if (!words.empty() && missing > 0)
      return fmt::format("{}, behind {} quantised tensor{} that it did not write", words, missing,
                         missing == 1 ? "" : "s");
    if (!words.empty() || missing == 0) return words;
  }
  return "";
}

void JudgeIntegers(const Scene& scene, StepRecord* record) {
  LayerReport& report = record->report;
  if (!scene.earlier || report.outputs.size() != record->device.size()) return;
  bool any = false;
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    OutputReport& output = report.outputs[i];
    if (output.verdict == Verdict::kNotTested) continue;
    output.rule = FollowedRule(scene, *record, i);
    if (output.rule.empty()) continue;
    any = true;
    output.verdict = Verdict::kAligned;
    output.reason = "to the integer by " + output.rule;
    output.excess = output.rms_excess = output.channel_excess = 0;
  }
  if (!any) return;
  const OutputReport* worst = report.Worst();
  report.verdict = worst->verdict == Verdict::kNotTested ? Verdict::kAligned : worst->verdict;
  report.reason = worst->reason;
  if (report.verdict == Verdict::kAligned) report.cause.clear();
}

void NoteIntegerRules(RunReport* report) {
  std::map<std::string, int> followed;
  for (const LayerReport& layer : report->layers) {
    for (const OutputReport& output : layer.outputs) {
      if (!output.rule.empty()) ++followed[output.rule];
    }
  }
  for (const auto& [rule, count] : followed)
    report->notes.push_back(
        fmt::format("{} {} integers follow {} to the last one", count, count == 1 ? "tensor's" : "tensors'", rule));
}

}  // namespace plumb
