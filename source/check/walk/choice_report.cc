// SPDX-License-Identifier: Apache-2.0
// Whose doing a changed choice is: a guilty layer's, what it followed, rounding's; or nobody can tell.
#include <algorithm>
#include <cmath>
#include <map>

#include "check/walk/choices.h"

namespace plumb {

ChoiceReport Choices::Conclude(const RunReport& run, const Step& step) const {
  ChoiceReport report;
  report.step = run.layers[step.position].step;
  report.choices = step.choices;
  report.changed = step.changed;
  const auto is_wrong = [&](size_t position) { return run.layers[position].verdict == Verdict::kWrong; };
  std::map<size_t, int64_t> layers;
  for (const Changed& changed : step.rows) {
    double guilty = 0, most = 0;
    size_t by = step.position;
    for (size_t i = 0; i < changed.by_fork.size(); ++i) {
      if (!is_wrong(step.forks[i])) continue;
      const double moved = std::isnan(changed.by_fork[i]) ? INFINITY : changed.by_fork[i];  // its values are none
      guilty += moved;
      if (!(moved > most)) continue;
      most = moved;
      by = step.forks[i];
    }
    if (changed.against_scores && is_wrong(step.position)) {
      ++layers[step.position];
    } else if (most > 0 && !(changed.moved - guilty >= changed.margin)) {
      ++layers[by];
    } else if (changed.follows) {
      ++report.following;
    } else if (changed.margin_here <= changed.reach) {
      ++report.by_rounding;
      if (changed.margin_here < report.margin) continue;
      report.margin = changed.margin_here;
      report.reach = changed.reach;
    } else {
      ++report.unexplained;
    }
  }
  for (const auto& [position, count] : layers) report.layers.push_back({run.layers[position].step, count});
  std::stable_sort(report.layers.begin(), report.layers.end(),
                   [](const ChoiceCause& a, const ChoiceCause& b) { return a.choices > b.choices; });
  return report;
}

std::vector<ChoiceReport> Choices::Finish(const RunReport& run) const {
  std::vector<ChoiceReport> reports;
  for (const Step& step : steps_) reports.push_back(Conclude(run, step));
  return reports;
}

ChoiceReport AnswerAsChoice(const OutputEffect& effect, const StepInfo& step, double reach) {
  ChoiceReport report;
  report.step = step;
  report.choices = report.changed = 1;
  const auto less = [](const LayerEffect& a, const LayerEffect& b) { return a.margin < b.margin; };
  const auto most = std::max_element(effect.layers.begin(), effect.layers.end(), less);
  if (most != effect.layers.end() && most->margin > 0 && effect.others_margin < effect.margin) {
    report.layers.push_back({most->step, 1});
  } else if (effect.margin <= reach) {
    report.by_rounding = 1;
    report.margin = effect.margin;
    report.reach = reach;
  } else {
    report.unexplained = 1;
  }
  return report;
}

}  // namespace plumb
