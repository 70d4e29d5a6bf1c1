// SPDX-License-Identifier: Apache-2.0
#include "check/core/coverage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace plumb {
namespace {

// Values stood side by side; also where they were all the same and so prove little ("not tested" by their values).
bool WasCompared(const OutputReport& output) {
  return output.introduced.count > 0 || (output.verdict != Verdict::kNotTested) || output.shape.NumElements() == 0;
}

// "41.2 %", never more than it is.
std::string Percent(double part, double whole) { return fmt::format("{:.1f} %", std::floor(1000 * part / whole) / 10); }

// Which shares are below what is asked for.
std::string TooLittle(const Coverage& c, double min_tested) {
  std::string why;
  const auto add = [&](const std::string& text) { why += (why.empty() ? "" : ", ") + text; };
  if (c.steps < min_tested * c.all_steps) add(fmt::format("{} of {} steps", c.steps, c.all_steps));
  if (static_cast<double>(c.values) < min_tested * static_cast<double>(c.all_values))
    add(fmt::format("{} of {} values", c.values, c.all_values));
  if (c.multiply_adds < min_tested * c.all_multiply_adds)
    add(Percent(c.multiply_adds, c.all_multiply_adds) + " of the multiply-adds");
  if (why.empty()) return "";
  char share[32];
  std::snprintf(share, sizeof(share), "%.6g %%", 100 * min_tested);
  return fmt::format("{} were compared, fewer than {}", why, share);
}

}  // namespace

void ApplyCoverage(const std::vector<std::string>& network_outputs, double min_tested, RunReport* report) {
  Coverage& c = report->coverage;
  c = {};
  std::map<std::string, bool> computed;  // by blob: compared or not
  for (const LayerReport& layer : report->layers) {
    if (layer.step.index < 0 && layer.verdict == Verdict::kNotTested) continue;  // a constant, not a step of the run
    ++c.all_steps;
    c.steps += layer.verdict != Verdict::kNotTested;
    c.all_multiply_adds += layer.multiply_adds;
    if (layer.verdict != Verdict::kNotTested) c.multiply_adds += layer.multiply_adds;
    int64_t compared = 0;
    for (const PortInfo& port : layer.step.outputs) computed.emplace(port.blob, false);
    for (const OutputReport& output : layer.outputs) {
      compared += output.introduced.count;
      computed[output.blob] = WasCompared(output);
    }
    c.values += compared;
    c.all_values += std::max(compared, layer.values);
  }
  for (const std::string& name : network_outputs) {
    const auto it = computed.find(name);
    if (it == computed.end()) continue;  // an input or constant handed through: no step computes it
    ++c.all_outputs;
    c.outputs += it->second;
    if (!it->second && c.first_missing_output.empty()) c.first_missing_output = name;
  }
  ConcludeCoverage(min_tested, report);
}

void ConcludeCoverage(double min_tested, RunReport* report) {
  const Coverage& c = report->coverage;
  std::string& why = report->why_not_tested;
  why.clear();
  if (report->verdict == Verdict::kWrong) return;
  if (c.steps == 0) {
    why = "nothing could be compared";
  } else {
    why = TooLittle(c, min_tested);
  }
  if (min_tested > 0 && c.outputs < c.all_outputs && c.steps > 0) {
    const int more = c.all_outputs - c.outputs - 1;
    why += fmt::format("{}network output '{}' was not compared{}", why.empty() ? "" : "; ", c.first_missing_output,
                       more > 0 ? fmt::format(", nor were {} more", more) : "");
  }
  if (!why.empty()) report->verdict = Verdict::kNotTested;
}

void ConcludeRun(const std::vector<std::string>& network_outputs, double min_tested, RunReport* report) {
  report->first_wrong = -1;
  report->verdict = Verdict::kNotTested;
  bool compared = false;
  for (size_t i = 0; i < report->layers.size(); ++i) {
    const LayerReport& layer = report->layers[i];
    compared = compared || layer.verdict != Verdict::kNotTested;
    if (layer.verdict == Verdict::kWrong && report->first_wrong < 0) report->first_wrong = static_cast<int>(i);
    if (layer.verdict != Verdict::kNotTested) report->verdict = std::max(report->verdict, layer.verdict);
  }
  if (compared && report->verdict == Verdict::kNotTested) report->verdict = Verdict::kAligned;
  ApplyCoverage(network_outputs, min_tested, report);
}

bool HoldsLayer(const StepInfo& step, const std::string& name) {
  for (const MemberInfo& member : step.members) {
    if (member.name == name || std::to_string(member.index) == name) return true;
    if (std::find(member.nodes.begin(), member.nodes.end(), name) != member.nodes.end()) return true;
  }
  return step.name == name || std::to_string(step.index) == name;
}

Status CheckLayerNames(const std::vector<std::string>& names, const std::vector<const StepInfo*>& steps) {
  for (const std::string& name : names) {
    const auto holds = [&](const StepInfo* step) { return HoldsLayer(*step, name); };
    if (std::any_of(steps.begin(), steps.end(), holds)) continue;
    return Status::InvalidArgument(
        fmt::format("no layer '{}' to judge: neither a name nor an index (0 to {}); model_info lists them", name,
                    steps.empty() ? 0 : steps.back()->index));
  }
  return Status::Ok();
}

Status KeepNamedLayers(const std::vector<std::string>& names, const std::vector<std::string>& network_outputs,
                       double min_tested, RunReport* report) {
  if (names.empty()) return Status::Ok();
  std::vector<const StepInfo*> steps;
  for (const LayerReport& layer : report->layers) steps.push_back(&layer.step);
  PLUMB_RETURN_IF_ERROR(CheckLayerNames(names, steps));
  const auto dropped = [&](const LayerReport& layer) {
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return HoldsLayer(layer.step, name); });
  };
  report->layers.erase(std::remove_if(report->layers.begin(), report->layers.end(), dropped), report->layers.end());
  report->only_named_layers = true;
  ConcludeRun(network_outputs, min_tested, report);
  return Status::Ok();
}

std::string CoverageText(const Coverage& c) {
  std::string values = std::to_string(c.values);
  if (c.values < c.all_values) values += fmt::format(" of {}", c.all_values);
  std::string text = fmt::format("{} of {} steps, {} values", c.steps, c.all_steps, values);
  if (c.multiply_adds < c.all_multiply_adds)
    text += fmt::format(", {} of the multiply-adds", Percent(c.multiply_adds, c.all_multiply_adds));
  return text + fmt::format(", {} of {} outputs", c.outputs, c.all_outputs);
}

}  // namespace plumb
