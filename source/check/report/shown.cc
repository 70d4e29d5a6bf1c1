// SPDX-License-Identifier: Apache-2.0
#include "check/report/shown.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// The cause without what belongs to one step: what stands in brackets, such as names of layers.
std::string SharedCause(const LayerReport& layer) {
  const std::string& text = layer.cause.empty() ? layer.reason : layer.cause;
  std::string cause;
  int depth = 0;
  for (char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) cause += c;
    if (c == ')' && depth > 0) --depth;
  }
  for (size_t at = 0; (at = cause.find("  ", at)) != std::string::npos;) cause.erase(at, 1);
  while (!cause.empty() && cause.back() == ' ') cause.pop_back();
  return cause;
}

double ExcessOf(const LayerReport& layer) { return layer.Worst() == nullptr ? 0 : layer.Worst()->excess; }

// By cause; a step that is alone with its cause is a row like any other.
std::map<std::string, GreyGroup> GroupGreys(const RunReport& run) {
  std::map<std::string, GreyGroup> groups;
  for (const LayerReport& layer : run.layers) {
    const std::string cause = layer.verdict == Verdict::kGrey ? SharedCause(layer) : "";
    if (cause.empty()) continue;
    GreyGroup& group = groups[cause];
    group.cause = cause;
    ++group.steps;
    if (group.worst == nullptr || ExcessOf(layer) > ExcessOf(*group.worst)) group.worst = &layer;
  }
  for (auto it = groups.begin(); it != groups.end();) it = it->second.steps < 2 ? groups.erase(it) : std::next(it);
  return groups;
}

// As near to being wrong as a run's aligned steps come, at most five.
std::vector<const LayerReport*> WorstAligned(const RunReport& run) {
  constexpr size_t kWorst = 5;
  std::vector<const LayerReport*> aligned;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict == Verdict::kAligned && layer.Worst() != nullptr) aligned.push_back(&layer);
  }
  const auto worse = [](const LayerReport* a, const LayerReport* b) {
    const auto key = [](const OutputReport& o) { return std::max(o.excess, o.rms_excess / 2); };
    return key(*a->Worst()) > key(*b->Worst());
  };
  std::stable_sort(aligned.begin(), aligned.end(), worse);
  if (aligned.size() > kWorst + 1)
    aligned.resize(kWorst);  // a single one takes no more room than the line that counts it
  return aligned;
}

}  // namespace

Shown ChooseShown(const RunReport& run, const ReportStyle& style) {
  constexpr int kNotTested = 5;
  const bool every = style.all || style.full;
  const std::vector<const LayerReport*> aligned = WorstAligned(run);
  const auto groups = every ? std::map<std::string, GreyGroup>() : GroupGreys(run);
  Shown shown;
  for (const auto& [cause, group] : groups) shown.greys.push_back(group);
  int not_tested = 0;
  for (const LayerReport& layer : run.layers) {
    const bool is_aligned = layer.verdict == Verdict::kAligned, untested = layer.verdict == Verdict::kNotTested;
    if (layer.verdict == Verdict::kGrey && groups.count(SharedCause(layer)) > 0) continue;
    bool show = every || !(is_aligned || untested);
    if (is_aligned) show = show || std::find(aligned.begin(), aligned.end(), &layer) != aligned.end();
    if (untested) show = show || ++not_tested <= kNotTested;
    if (show) {
      shown.layers.push_back(&layer);
    } else {
      ++(is_aligned ? shown.aligned : shown.not_tested);
    }
  }
  return shown;
}

std::string FormatLeftOut(const Shown& shown, const ReportStyle& style) {
  constexpr size_t kIndent = 7;
  std::string lines;
  for (const GreyGroup& group : shown.greys) {
    char excess[32];
    std::snprintf(excess, sizeof(excess), "%.2f", ExcessOf(*group.worst));
    const std::string line = PrintableLine(fmt::format("...    {} steps grey: {}, worst E {} at '{}'", group.steps,
                                                       group.cause, excess, group.worst->step.name));
    lines += Wrapped(line, style.width, kIndent) + "\n";
  }
  std::string text;
  if (shown.aligned > 0) text += std::to_string(shown.aligned) + " more aligned";
  if (shown.not_tested > 0) text += fmt::format("{}{} more not tested", text.empty() ? "" : ", ", shown.not_tested);
  if (text.empty() && lines.empty()) return "";
  if (text.empty()) return lines + "       (ReportStyle::all shows every step)\n";
  return fmt::format("{}...    {} (ReportStyle::all shows every step)\n", lines, text);
}

}  // namespace plumb
