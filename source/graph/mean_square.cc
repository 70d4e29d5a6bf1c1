// SPDX-License-Identifier: Apache-2.0
#include "graph/mean_square.h"

#include <algorithm>
#include <cstring>

#include "op/core/op.h"
#include "op/core/some_params.h"

namespace plumb {
namespace {

// Whether a layer has a fused activation: an integer field of that name which is not 0.
class ActivationFinder : public SomeParams {
 public:
  void Int(const char* name, int& value, Need) override { found |= std::strcmp(name, "activation") == 0 && value != 0; }
  bool found = false;
};

bool HasActivation(const Layer& layer) {
  ActivationFinder finder;
  layer.param->Visit(finder);
  return finder.found;
}

}  // namespace

MeanSquares::Value MeanSquares::Of(const std::string& blob) const {
  const auto it = values_.find(blob);
  return it == values_.end() ? Value() : it->second;
}

void MeanSquares::AddLayer(const Layer& layer, bool drawn) {
  Value value = drawn ? Value{2, 0} : Output(layer);
  if (GetOp(layer.kind).spread == Spread::kHalved || HasActivation(layer)) {
    // Half of the symmetric part; a little more on top of positive values, which keep some of the negative ones alive.
    const double kept = value.positive > 0 ? 0.6 : 0.5;
    value = {0, value.positive + kept * value.symmetric};
  }
  const double total = value.Total();
  const double scale = std::min(std::max(total, 1e-6), 1e6) / (total > 0 ? total : 1);
  for (const std::string& name : layer.outputs) values_[name] = {value.symmetric * scale, value.positive * scale};
}

MeanSquares::Value MeanSquares::Output(const Layer& layer) const {
  const Value input = First(layer);
  const bool two = layer.inputs.size() == 2;
  switch (GetOp(layer.kind).spread) {
    case Spread::kPositive: return {0, 0.4};
    case Spread::kBounded: return {std::min(input.Total(), 0.4), 0};
    case Spread::kNormalised: return {1, 0};
    case Spread::kKept:
    case Spread::kHalved: break;
  }
  if (two && (layer.kind == OpKind::kAdd || layer.kind == OpKind::kSub)) {
    const Value other = Of(layer.inputs[1]);
    return {input.symmetric + other.symmetric, input.positive + other.positive};
  }
  if (two && layer.kind == OpKind::kMul) {
    const double product = input.Total() * Of(layer.inputs[1]).Total();
    return input.symmetric > 0 ? Value{product, 0} : Value{0, product};
  }
  if (layer.kind != OpKind::kConcat || layer.inputs.empty()) return input;
  Value mean{0, 0};
  for (const std::string& name : layer.inputs) {
    mean.symmetric += Of(name).symmetric / static_cast<double>(layer.inputs.size());
    mean.positive += Of(name).positive / static_cast<double>(layer.inputs.size());
  }
  return mean;
}

}  // namespace plumb
