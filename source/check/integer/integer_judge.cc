// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "check/core/step_budget.h"

namespace plumb {
namespace {

// Integers of the output that rounding may move to the next one.
int64_t CountNearTies(const StepRecord& record, size_t output) {
  if (output >= record.replay.tau.size() || record.replay.tau[output].dtype() != DType::kF64) return 0;
  const double* tau = record.replay.tau[output].data<double>();
  return std::count_if(tau, tau + record.replay.tau[output].NumElements(), [](double t) { return t > 0; });
}

// Of a dump of plumb-golden litert.
const char* DeclaredBy(const std::string& description) {
  const auto says = [&](const char* words) { return description.find(words) != std::string::npos; };
  if (says("XNNPACK") || says("default delegates")) return "XNNPACK's";
  return says("reference kernels") ? "TFLite's rule" : says("plain kernels") ? "TFLite's optimised" : "";
}

// Whose ties tell of each other's: a rule's, or those of a family whose kernels all round alike.
std::string FamilyOf(const std::string& words) {
  for (const char* whose : {"TNN's", "ncnn's", "MNN's"}) {
    if (words.rfind(whose, 0) == 0) return std::string(whose) + " rules";
  }
  return words;
}

}  // namespace

void IntegerJudge::Judge(const Scene& scene, size_t position, StepRecord* record) {
  LayerReport& report = record->report;
  if (!scene.earlier || report.outputs.size() != record->device.size()) return;
  const StepBudget budget(record->group.members.size());
  declared_ = DeclaredBy(scene.description);
  bool any = false;
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    OutputReport& output = report.outputs[i];
    if (output.verdict == Verdict::kNotTested) continue;
    const FollowedRule found = FindIntegerRule(scene, *record, i);
    const int64_t near_ties = CountNearTies(*record, i);
    if (found.differing > 0 && !found.words.empty()) ++elsewhere_;
    if (found.differing > 0) {
      ++rules_[FamilyOf(found.nearest)].others;
      loose_[position] = {i, found, near_ties};
    }
    if (found.words.empty()) {
      ruleless_ += found.quantised ? 1 : 0;
      any = JudgeRuleless(found, &output) || any;
      continue;
    }
    const DType dtype = scene.graph->ModelDType(record->group.outputs[i].blob, DType::kI64);
    for (const std::string& words : found.words) {
      ++outputs_[{words, dtype}];
      Followers& followers = rules_[FamilyOf(words)];
      ++followers.outputs;
      followers.near_ties += near_ties;
    }
    followed_.push_back({position, i, found, dtype});
    output.rule = found.words[0] + found.behind;
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

// Kernels that the subject names follow their rules, or are wrong.
bool IntegerJudge::JudgeRuleless(const FollowedRule& found, OutputReport* output) const {
  if (*declared_ == 0 || !found.ruled || output->verdict > Verdict::kGrey) return false;
  output->verdict = Verdict::kWrong;
  output->reason = fmt::format("{} of {} integers differ from those of {}; no rule of LiteRT's kernels gives all",
                               found.differing, output->shape.NumElements(), found.nearest);
  output->excess = output->rms_excess = INFINITY;
  return true;
}

std::vector<size_t> IntegerJudge::Suspects(const RunReport& report) const {
  constexpr int kFollowers = 3;
  constexpr int64_t kTies = 8;
  if (elsewhere_ >= kFollowers) return {};
  std::vector<size_t> suspects;
  for (const auto& [position, loose] : loose_) {
    const Followers& followers = rules_.at(FamilyOf(loose.nearest.nearest));
    const bool told = followers.outputs >= kFollowers && followers.outputs > followers.others;
    if (told && followers.near_ties >= kTies && report.layers[position].verdict == Verdict::kAligned)
      suspects.push_back(position);
  }
  return suspects;
}

void IntegerJudge::Settle(size_t position, const std::string& fault, LayerReport* layer) const {
  constexpr double kByChance = 1e-3;
  const Loose& loose = loose_.at(position);
  const Followers& followers = rules_.at(FamilyOf(loose.nearest.nearest));
  const auto own = static_cast<double>(std::max(loose.near_ties, loose.nearest.differing));
  const double share = own / (own + static_cast<double>(followers.near_ties));
  const bool by_chance = std::pow(share, static_cast<double>(loose.nearest.differing)) >= kByChance;
  if (fault.empty() && (by_chance || !loose.nearest.words.empty())) return;
  OutputReport& output = layer->outputs[loose.output];
  layer->verdict = output.verdict = fault.empty() ? Verdict::kGrey : Verdict::kWrong;
  layer->cause = fault;
  output.rule.clear();
  output.excess = output.rms_excess = fault.empty() ? 4 : INFINITY;
  layer->reason = output.reason = fmt::format(
      "{} of {} integers next to a rounding tie differ from those of {}, which {} others follow, with {} such "
      "integers{}{}",
      loose.nearest.differing, loose.near_ties, FamilyOf(loose.nearest.nearest), followers.outputs, followers.near_ties,
      fault.empty() ? "" : "; ", fault);
}

// Of the runtime that the model is made for, then f32's, then another's; of these the kernels that the subject names.
std::string IntegerJudge::ChosenOf(const Followed& followed) const {
  const auto rank = [&](const std::string& words) {
    const int kind = words.rfind("ONNX Runtime", 0) == 0 ? 0 : words.rfind("the rule of f32", 0) == 0 ? 1 : 2;
    const bool declared = *declared_ != 0 && words.rfind(declared_, 0) == 0;
    return std::make_tuple(kind, declared, outputs_.at({words, followed.dtype}));
  };
  const auto lower = [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); };
  const std::vector<std::string>& words = followed.by.words;
  return *std::max_element(words.begin(), words.end(), lower) + followed.by.behind;
}

void IntegerJudge::SayRules(RunReport* report) const {
  std::map<std::string, int> said;
  int tensors = 0;
  for (const Followed& followed : followed_) {
    LayerReport& layer = report->layers[followed.position];
    OutputReport* output = followed.output < layer.outputs.size() ? &layer.outputs[followed.output] : nullptr;
    if (output == nullptr || output->rule.empty()) continue;  // others told that it follows none
    output->rule = ChosenOf(followed);
    const std::string reason = "to the integer by " + output->rule;
    if (layer.reason == output->reason) layer.reason = reason;
    output->reason = reason;
    ++said[output->rule];
    ++tensors;
  }
  std::string by;
  for (const auto& [words, outputs] : said) by += fmt::format("{}{} by {}", by.empty() ? ": " : "; ", outputs, words);
  if (tensors + ruleless_ > 0)
    report->notes.push_back(
        fmt::format("quantised tensors: {} of {} are right to the integer{}", tensors, tensors + ruleless_, by));
}

}  // namespace plumb
