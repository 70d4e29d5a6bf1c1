// SPDX-License-Identifier: Apache-2.0
// What a verdict rests on.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/core/coverage.h"
#include "check/report/util.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr size_t kFewNames = 3, kFewReasons = 5;
constexpr size_t kLongestName = 40;  // whole names stand in the table, or in the JSON

std::string NameText(const LayerReport& layer) { return "'" + CutFront(layer.step.name, kLongestName) + "'"; }

// "'conv1', 'conv2' and 5 more"
std::string NamesText(const std::vector<const LayerReport*>& layers) {
  std::string text;
  for (size_t i = 0; i < std::min(layers.size(), kFewNames); ++i) text += (i == 0 ? "" : ", ") + NameText(*layers[i]);
  if (layers.size() > kFewNames) text += fmt::format(" and {} more", layers.size() - kFewNames);
  return text;
}

std::string ComparedText(const CheckedModel& checked, const RunReport& run) {
  const char* only = run.only_named_layers ? "; of the network only the steps that were named" : "";
  return fmt::format("compared: {} ({}){}", CoverageText(run.coverage), checked.rule, only);
}

// The input whose line it is: "x f32 [1,3]: generated". Of several that could be, the longest name.
const InputExtent* ExtentOfLine(const CheckedModel& checked, const std::string& line) {
  const InputExtent* found = nullptr;
  for (const InputExtent& extent : checked.input_ranges) {
    const std::string& name = extent.input;
    const bool is = line.compare(0, name.size(), name) == 0 && line.compare(name.size(), 1, " ") == 0;
    if (is && (found == nullptr || found->input.size() < name.size())) found = &extent;
  }
  return found;
}

std::vector<std::string> InputTexts(const CheckedModel& checked) {
  std::vector<std::string> texts;
  for (const std::string& line : checked.inputs) {
    std::string text = "on " + line;
    if (const InputExtent* extent = ExtentOfLine(checked, line)) {
      text += fmt::format("; its values: {} to {}", Number(extent->min, 6), Number(extent->max, 6));
      if (extent->not_finite > 0) text += fmt::format(", {} not finite", extent->not_finite);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string NotTestedText(const RunReport& run) {
  std::vector<std::pair<std::string, std::vector<const LayerReport*>>> reasons;
  size_t count = 0;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict != Verdict::kNotTested) continue;
    ++count;
    const std::string why = layer.reason.empty() ? "nothing of it was compared" : layer.reason;
    const auto same = [&](const auto& reason) { return reason.first == why; };
    auto it = std::find_if(reasons.begin(), reasons.end(), same);
    if (it == reasons.end()) it = reasons.insert(reasons.end(), {why, {}});
    it->second.push_back(&layer);
  }
  if (count == 0) return run.layers.empty() ? "not tested: everything" : "not tested: nothing";
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::string text = fmt::format("not tested: {} of {} steps", count, run.layers.size());
  for (size_t i = 0; i < std::min(reasons.size(), kFewReasons); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? ": " : "; ", NamesText(reasons[i].second), reasons[i].first);
  if (reasons.size() > kFewReasons) text += fmt::format("; and for {} other reasons", reasons.size() - kFewReasons);
  return text;
}

// Whether the layer's reason is a rule that its integers follow: it was tested whole.
bool FollowsRule(const LayerReport& layer) {
  return std::any_of(layer.outputs.begin(), layer.outputs.end(),
                     [&](const OutputReport& output) { return !output.rule.empty() && layer.reason == output.reason; });
}

// Steps that are aligned as far as they could be: dead channels, values at a limit, a bound that says little.
std::string TestedInPartText(const RunReport& run) {
  std::vector<std::string> reasons;
  for (const LayerReport& layer : run.layers) {
    const bool says = layer.verdict == Verdict::kAligned && !layer.reason.empty();
    if (says && !FollowsRule(layer)) reasons.push_back(layer.reason);
  }
  if (reasons.empty()) return "";
  std::string text = fmt::format("tested in part: {} of {} steps", reasons.size(), run.layers.size());
  for (size_t i = 0; i < std::min(reasons.size(), kFewNames); ++i) text += (i == 0 ? ": " : "; ") + reasons[i];
  return reasons.size() > kFewNames ? fmt::format("{}; and {} more", text, reasons.size() - kFewNames) : text;
}

// The largest of its outputs'; 0: any change of a value is seen.
double SmallestFault(const LayerReport& layer) {
  double fault = 0;
  for (const OutputReport& output : layer.outputs) fault = std::max(fault, output.smallest_fault);
  return fault;
}

std::string SmallestFaultText(const RunReport& run) {
  std::vector<std::pair<double, const LayerReport*>> faults;
  size_t exact = 0;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict == Verdict::kNotTested || layer.outputs.empty()) continue;
    const double fault = SmallestFault(layer);
    if (fault > 0)
      faults.emplace_back(fault, &layer);
    else
      ++exact;
  }
  std::stable_sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::string begin = "smallest gain error that would have been seen: ";
  const std::string any = exact == 0 ? "" : fmt::format("any in {} exact {}", exact, exact == 1 ? "step" : "steps");
  if (faults.empty()) return any.empty() ? "" : begin + any;
  std::string text = begin;
  if (!any.empty()) text += any + ", ";
  if (faults.size() > kFewNames)
    text += fmt::format("{} in the middle of{}, at worst ", Number(faults[faults.size() / 2].first, 2),
                        exact == 0 ? " all" : " the others");
  for (size_t i = 0; i < std::min(faults.size(), kFewNames); ++i)
    text += fmt::format("{}{} at {}", i == 0 ? "" : ", ", Number(faults[i].first, 2), NameText(*faults[i].second));
  return text;
}

}  // namespace

std::vector<std::string> RestsOn(const CheckedModel& checked, const RunReport& run) {
  std::vector<std::string> sentences = {ComparedText(checked, run)};
  for (std::string& text : InputTexts(checked)) sentences.push_back(std::move(text));
  sentences.push_back(NotTestedText(run));
  if (std::string text = TestedInPartText(run); !text.empty()) sentences.push_back(std::move(text));
  if (std::string text = SmallestFaultText(run); !text.empty()) sentences.push_back(std::move(text));
  return sentences;
}

std::vector<InputExtent> ExtentsOf(const std::map<std::string, Tensor>& inputs) {
  std::vector<InputExtent> extents;
  for (const auto& [name, value] : inputs) {
    InputExtent& extent = extents.emplace_back();
    extent.input = name;
    bool any = false;
    for (int64_t i = 0; i < value.NumElements(); ++i) {
      const double one = value.ValueAt(i);
      if (!std::isfinite(one)) {
        ++extent.not_finite;
        continue;
      }
      extent.min = any ? std::min(extent.min, one) : one;
      extent.max = any ? std::max(extent.max, one) : one;
      any = true;
    }
  }
  return extents;
}

}  // namespace plumb
