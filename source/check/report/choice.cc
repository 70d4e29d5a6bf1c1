// SPDX-License-Identifier: Apache-2.0
// What steps that choose made of their scores, in sentences.
#include <fmt/core.h>

#include "check/report/util.h"

namespace plumb {

std::string ChoiceSentence(const RunReport& run, const ChoiceReport& choice) {
  if (choice.changed == 0) return "";
  std::vector<std::string> parts;
  for (const ChoiceCause& cause : choice.layers)
    parts.push_back(fmt::format("{} by layer '{}'", cause.choices, cause.step.name));
  int64_t told = choice.by_rounding + choice.following + choice.unexplained;
  for (const ChoiceCause& cause : choice.layers) told += cause.choices;
  if (choice.by_rounding > 0) {
    std::string part = fmt::format("{} by rounding", choice.by_rounding);
    if (choice.reach > 0) part += fmt::format(" (margin {:.2g} < {:.2g})", choice.margin, choice.reach);
    parts.push_back(part);
  }
  if (choice.following > 0) parts.push_back(fmt::format("{} behind other choices before it", choice.following));
  if (choice.unexplained > 0) {
    const bool wrong = run.Count(Verdict::kWrong) > 0;
    parts.push_back(fmt::format("{} by more than rounding{}", choice.unexplained,
                                wrong ? " and the layers that were followed" : ", though no layer is wrong"));
  }
  if (choice.changed > told) parts.push_back(fmt::format("{} not looked into", choice.changed - told));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  const StepInfo& chooses = choice.step;
  const std::string type = chooses.members.size() > 1 ? "" : fmt::format(" ({})", chooses.type);
  return fmt::format("'{}'{}: {} of {} choices {} not the reference's: {}", chooses.name, type, choice.changed,
                     choice.choices, choice.changed == 1 ? "is" : "are", text);
}

}  // namespace plumb
