// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/budget.h"

#include <fmt/core.h>

#include <cstdlib>

#include "plumb/tool/environment.h"

namespace plumb::onnx {
namespace {

constexpr const char* kMaxNodes = "PLUMB_MAX_NODES";
constexpr double kFoldingPerElement = 1000;  // a dozen operators on each

void Measure(const std::vector<NodeIr>& nodes, ImportBudget* budget);

void Measure(const GraphIr& graph, ImportBudget* budget) {
  for (const auto& [name, constant] : graph.constants)
    budget->max_folding += kFoldingPerElement * static_cast<double>(constant.value.NumElements());
  Measure(graph.nodes, budget);
}

void Measure(const std::vector<NodeIr>& nodes, ImportBudget* budget) {
  budget->max_nodes += static_cast<int64_t>(nodes.size());
  for (const NodeIr& node : nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      budget->max_folding += kFoldingPerElement * static_cast<double>(attribute.tensor.value.NumElements());
      if (attribute.graph != nullptr) Measure(*attribute.graph, budget);
    }
  }
}

}  // namespace

Result<ImportBudget> ImportBudget::Of(const ModelIr& model) {
  ImportBudget budget;
  const char* text = std::getenv(kMaxNodes);
  if (text != nullptr && *text != '\0') {
    char* end = nullptr;
    budget.max_nodes = std::strtoll(text, &end, 10);
    if (*end != '\0' || budget.max_nodes < 1 || budget.max_nodes > INT64_MAX / 2) {
      return Status::InvalidArgument(
          fmt::format("{} is '{}', expected {}", kMaxNodes, text, EnvironmentValues(kMaxNodes)));
    }
  }
  Measure(model.graph, &budget);
  for (const FunctionIr& function : model.functions) Measure(function.nodes, &budget);
  return budget;
}

}  // namespace plumb::onnx
