// SPDX-License-Identifier: Apache-2.0
#include "check/subject/layouts.h"

#include <algorithm>

#include "op/permute.h"

namespace plumb {
namespace {

enum class Turn { kNone, kToFirst, kToLast };

Turn TurnOf(const Layer& layer) {
  if (layer.kind != OpKind::kPermute) return Turn::kNone;
  const std::vector<int>& orders = ParamOf<PermuteParam>(layer).orders;
  std::vector<int> plain = orders;
  std::sort(plain.begin(), plain.end());
  if (plain.size() < 4 || plain == orders) return Turn::kNone;
  std::vector<int> to_last = plain, to_first = plain;
  std::rotate(to_last.begin() + 1, to_last.begin() + 2, to_last.end());
  std::rotate(to_first.begin() + 1, to_first.end() - 1, to_first.end());
  return orders == to_first ? Turn::kToFirst : orders == to_last ? Turn::kToLast : Turn::kNone;
}

bool IsSpatial(OpKind kind) {
  switch (kind) {
    case OpKind::kConvolution:
    case OpKind::kDeconvolution:
    case OpKind::kPooling:
    case OpKind::kPlumbAveragePool: return true;
    default: return false;
  }
}

// Of the layer's outputs: what it reads, or what its kind says; a Reshape's result is in the framework's own layout.
bool IsFirst(const Layer& layer, const std::map<std::string, bool>& known) {
  const Turn turn = TurnOf(layer);
  if (turn != Turn::kNone) return turn == Turn::kToFirst;
  if (IsSpatial(layer.kind)) return true;
  if (layer.kind == OpKind::kReshape) return false;
  for (const std::string& blob : layer.inputs) {
    const auto it = known.find(blob);
    if (it != known.end()) return it->second;
  }
  return false;
}

}  // namespace

bool ChangesLayout(const Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const Layer& l) { return TurnOf(l) != Turn::kNone; });
}

std::map<std::string, bool> SpreadLayouts(const Graph& graph, std::map<std::string, bool> known) {
  for (const Layer& layer : graph.layers) {
    const bool first = IsFirst(layer, known);
    for (const std::string& output : layer.outputs) known.emplace(output, first);
  }
  return known;
}

}  // namespace plumb
