// SPDX-License-Identifier: Apache-2.0
#include "check/subject/other_format.h"

#include <algorithm>

#include "check/subject/activated.h"
#include "plumb/model.h"

namespace plumb {

bool AreOfDifferentFormats(const std::string& model, const std::string& other) {
  const ModelFormat *a = FindModelFormat(model), *b = FindModelFormat(other);
  return a != nullptr && b != nullptr && a != b;
}

std::optional<std::vector<int>> OnlyTurn(const Shape& from, const Shape& to) {
  if (from.rank() != to.rank() || from == to) return std::nullopt;
  std::vector<int> order;
  for (int i = 0; i < to.rank(); ++i) {
    std::vector<int> same;  // of dims of 1 any order is the same
    for (int k = 0; k < from.rank(); ++k) {
      if (from[k] == to[i] && std::count(order.begin(), order.end(), k) == 0) same.push_back(k);
    }
    if (same.empty() || (same.size() > 1 && to[i] != 1)) return std::nullopt;
    order.push_back(same[0]);
  }
  return order;
}

BeforeActivations::BeforeActivations(const Graph& graph) {
  for (const auto& [input, range] : SoleActivations(graph)) activations_[range.output] = {input, range.low, range.high};
}

std::string BeforeActivations::InputOf(const std::string& output, const Tensor& value) const {
  const auto found = activations_.find(output);
  if (found == activations_.end() || value.dtype() != DType::kF32) return "";
  const float* x = value.data<float>();
  const bool beyond =
      std::any_of(x, x + value.NumElements(), [&](float v) { return v < found->second.low || v > found->second.high; });
  return beyond ? found->second.input : "";
}

}  // namespace plumb
