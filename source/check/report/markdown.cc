// SPDX-License-Identifier: Apache-2.0
// The summary for a pull request or a job's page ($GITHUB_STEP_SUMMARY): Markdown, at most some tens of lines.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "check/report/util.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// Text of a table's cell, in which nobody's name is markup.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : PrintableLine(text)) {
    if (std::string("\\`*_{}[]<>|#~").find(c) != std::string::npos) cell += '\\';
    cell += c;
  }
  return cell;
}

// A fence that no run of backticks in the text closes.
std::string Code(const std::string& text) {
  const std::string line = PrintableLine(text);
  std::string fence = "`";
  while (line.find(fence) != std::string::npos) fence += '`';
  const char* pad = fence.size() > 1 ? " " : "";
  return fmt::format("{}{}{}{}{}", fence, pad, line, pad, fence);
}

const LayerReport* WorstOf(const RunReport& run) {
  const LayerReport* worst = nullptr;
  for (const LayerReport& layer : run.layers) {
    if (layer.Worst() == nullptr) continue;
    if (worst == nullptr || layer.Worst()->excess > worst->Worst()->excess) worst = &layer;
  }
  return worst;
}

std::string RunRow(const RunReport& run) {
  const LayerReport* worst = WorstOf(run);
  const std::string largest =
      worst == nullptr ? "" : fmt::format("{} at {}", Number(worst->Worst()->excess, 3), Cell(worst->step.name));
  return fmt::format("| {} | {} | {} of {} | {} | {} | {} |\n", Cell(run.is_golden ? "conversion" : run.device),
                     VerdictName(run.verdict), run.coverage.steps, run.coverage.all_steps, run.Count(Verdict::kWrong),
                     run.Count(Verdict::kGrey), largest);
}

// The first steps that are wrong, else grey.
std::string Guilty(const RunReport& run) {
  constexpr int kShown = 10;
  const Verdict verdict = run.Count(Verdict::kWrong) > 0 ? Verdict::kWrong : Verdict::kGrey;
  const int all = run.Count(verdict);
  if (all == 0) return "";
  std::string text = fmt::format("\n**{}**: {} {}\n\n| layer | type | E | R | why |\n|---|---|---|---|---|\n",
                                 Cell(run.device), all, VerdictName(verdict));
  int shown = 0;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict != verdict || shown == kShown) continue;
    ++shown;
    const OutputReport* o = layer.Worst();
    text += fmt::format("| {} {} | {} | {} | {} | {} |\n", layer.step.index, Cell(layer.step.name),
                        Cell(TypesOf(layer.step)), o == nullptr ? "" : Number(o->excess, 3),
                        o == nullptr ? "" : Number(o->rms_excess, 3), Cell(layer.reason));
  }
  return all > shown ? fmt::format("{}\n{} more\n", text, all - shown) : text;
}

}  // namespace

std::string FormatMarkdown(const CheckResult& result) {
  const Conclusion conclusion = Conclude(result);
  std::string text = fmt::format("### model_check: {}\n\n{}\n", Cell(result.checked.model), Cell(conclusion.line));
  if (!result.runs.empty())
    text += "\n| run | verdict | steps | wrong | grey | largest E |\n|---|---|---|---|---|---|\n";
  for (const RunReport& run : result.runs) text += RunRow(run);
  for (const RunReport& run : result.runs) text += Guilty(run);
  for (const FileComparison& comparison : result.comparisons) {
    for (size_t i = 0; i < comparison.worse.size(); ++i)
      text += fmt::format("{}- worse than the baseline: {}\n", i == 0 ? "\n" : "", Cell(comparison.worse[i]));
  }
  for (const RunReport& run : result.runs) {
    text += fmt::format("\n{} rests on\n\n", Cell(run.is_golden ? "conversion" : run.device));
    for (const std::string& sentence : RestsOn(result.checked, run)) text += fmt::format("- {}\n", Cell(sentence));
  }
  const std::string again = WholeCommand(result);
  if (conclusion.exit_code != 0 && !again.empty()) text += fmt::format("\nReproduce: {}\n", Code(again));
  return text;
}

}  // namespace plumb
