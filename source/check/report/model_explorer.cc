// SPDX-License-Identifier: Apache-2.0
// Node data for Google's Model Explorer (GraphNodeData of ai-edge-model-explorer 0.1.34): E by the name of each tensor
// that a step or one of its layers writes, and a colour per verdict. model-explorer-onnx 0.4.2 tells no names of
// tensors: there nodes are found by their own, which go first where a tensor of another node is called the same.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "check/report/util.h"
#include "plumb/graph.h"

namespace plumb {
namespace {

using NodeData = nlohmann::ordered_json;

constexpr const char *kAlignedColor = "#c4e3cd", *kGreyColor = "#ffe08a", *kWrongColor = "#ff9c94",
                     *kUntestedColor = "#d0d7de";
constexpr double kMostExcess = 1e9;  // JSON has no infinity

const char* HexColorOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAligned: return kAlignedColor;
    case Verdict::kGrey: return kGreyColor;
    case Verdict::kWrong: return kWrongColor;
    case Verdict::kNotTested: break;
  }
  return kUntestedColor;
}

// The guilty run, else the first device or subject, else the golden.
const RunReport* ShownRun(const std::vector<RunReport>& runs) {
  const auto wrong = [](const RunReport& run) { return run.verdict == Verdict::kWrong; };
  const auto own = [](const RunReport& run) { return !run.is_golden; };
  auto it = std::find_if(runs.begin(), runs.end(), wrong);
  if (it == runs.end()) it = std::find_if(runs.begin(), runs.end(), own);
  if (it == runs.end()) it = runs.begin();
  return it == runs.end() ? nullptr : &*it;
}

NodeData NodeValue(double excess, Verdict verdict) {
  const double value = std::isnan(excess) ? kMostExcess : std::min(excess, kMostExcess);
  return {{"value", value}, {"bgColor", HexColorOf(verdict)}, {"textColor", "#000000"}};
}

NodeData NodeValues(const RunReport& run, const Graph* model) {
  std::map<int, const Layer*> layers;
  if (model != nullptr) {
    for (const Layer& layer : model->layers) layers[layer.index] = &layer;
  }
  NodeData values = NodeData::object();
  std::map<std::string, std::pair<double, Verdict>> nodes;  // the worst of what each became
  for (const LayerReport& layer : run.layers) {
    const OutputReport* worst = layer.Worst();
    if (worst == nullptr) continue;
    for (const MemberInfo& member : layer.step.members) {  // what is fused away has the step's
      const auto it = layers.find(member.index);
      if (it == layers.end()) continue;
      for (const std::string& blob : it->second->outputs) values[blob] = NodeValue(worst->excess, layer.verdict);
      const std::vector<std::string> own = {it->second->name};
      for (const std::string& node : it->second->nodes.empty() ? own : it->second->nodes) {
        const auto known = nodes.try_emplace(node, worst->excess, layer.verdict).first;
        const auto weight = [](double excess, Verdict verdict) {
          return std::pair(verdict, std::isnan(excess) ? HUGE_VAL : excess);
        };
        if (weight(known->second.first, known->second.second) < weight(worst->excess, layer.verdict))
          known->second = {worst->excess, layer.verdict};
      }
    }
    for (const OutputReport& output : layer.outputs)
      values[output.blob] = NodeValue(output.excess, std::max(output.verdict, layer.verdict));
  }
  for (const auto& [node, value] : nodes) values[node] = NodeValue(value.first, value.second);
  return values;
}

}  // namespace

std::string FormatModelExplorer(const CheckResult& result) {
  const RunReport* run = ShownRun(result.runs);
  NodeData thresholds = NodeData::array();
  const std::pair<double, const char*> limits[] = {{1, kAlignedColor}, {4, kGreyColor}, {kMostExcess, kWrongColor}};
  for (const auto& [limit, color] : limits)
    thresholds.push_back({{"value", limit}, {"bgColor", color}, {"textColor", "#000000"}});
  const NodeData data = {{"name", run == nullptr ? "E" : "E, " + run->device},
                         {"thresholds", std::move(thresholds)},
                         {"results", run == nullptr ? NodeData::object() : NodeValues(*run, result.model.get())}};
  return data.dump(1, ' ', false, NodeData::error_handler_t::replace) + "\n";
}

}  // namespace plumb
