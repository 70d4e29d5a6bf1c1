// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/core/step_budget.h"

namespace plumb {
namespace {

// Integers of the output that rounding may move to the next one.
int64_t CountNearTies(const StepRecord& record, size_t output) {
  if (output >= record.replay.tau.size() || record.replay.tau[output].dtype() != DType::kF64) return 0;
  const double* tau = record.replay.tau[output].data<double>();
  return std::count_if(tau, tau + record.replay.tau[output].NumElements(), [](double t) { return t > 0; });
}

}  // namespace

void IntegerJudge::Judge(const Scene& scene, size_t position, StepRecord* record) {
  LayerReport& report = record->report;
  if (!scene.earlier || report.outputs.size() != record->device.size()) return;
  const StepBudget budget(record->group.members.size());
  bool any = false;
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    OutputReport& output = report.outputs[i];
    if (output.verdict == Verdict::kNotTested) continue;
    const FollowedRule found = FindIntegerRule(scene, *record, i);
    output.rule = found.words;
    const int64_t near_ties = CountNearTies(*record, i);
    if (found.differing > 0 && !found.words.empty()) ++elsewhere_;
    if (found.differing > 0) {
      ++rules_[found.nearest].others;
      loose_[position] = {i, found, near_ties};
    }
    if (found.words.empty()) {
      ruleless_ += found.quantised ? 1 : 0;
      continue;
    }
    ++rules_[found.words].outputs;
    rules_[found.words].near_ties += near_ties;
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

std::vector<size_t> IntegerJudge::Suspects(const RunReport& report) const {
  constexpr int kFollowers = 3;
  constexpr int64_t kTies = 8;
  if (elsewhere_ >= kFollowers) return {};
  std::vector<size_t> suspects;
  for (const auto& [position, loose] : loose_) {
    const Followers& followers = rules_.at(loose.nearest.nearest);
    const bool told = followers.outputs >= kFollowers && followers.outputs > followers.others;
    if (told && followers.near_ties >= kTies && report.layers[position].verdict == Verdict::kAligned)
      suspects.push_back(position);
  }
  return suspects;
}

void IntegerJudge::Settle(size_t position, const std::string& fault, LayerReport* layer) const {
  constexpr double kByChance = 1e-3;
  const Loose& loose = loose_.at(position);
  const Followers& followers = rules_.at(loose.nearest.nearest);
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
      loose.nearest.differing, loose.near_ties, loose.nearest.nearest, followers.outputs, followers.near_ties,
      fault.empty() ? "" : "; ", fault);
}

void IntegerJudge::AddNotes(RunReport* report) const {
  std::string by;
  int tensors = 0;
  for (const auto& [words, rule] : rules_) {
    if (rule.outputs > 0) by += fmt::format("{}{} by {}", by.empty() ? ": " : "; ", rule.outputs, words);
    tensors += rule.outputs;
  }
  if (tensors + ruleless_ > 0)
    report->notes.push_back(
        fmt::format("quantised tensors: {} of {} are right to the integer{}", tensors, tensors + ruleless_, by));
}

}  // namespace plumb
