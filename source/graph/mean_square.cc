#include "graph/mean_square.h"

#include <algorithm>
#include <cstring>

#include "op/core/op.h"

namespace plumb {
namespace {

// Whether a layer has a fused activation: an integer field of that name which is not 0.
class ActivationFinder : public ParamVisitor {
 public:
  void Int(const char* name, int& value, Need) override { found |= std::strcmp(name, "activation") == 0 && value != 0; }
  void Float(const char*, float&, Need) override {}
  void Bool(const char*, bool&, Need) override {}
  void Text(const char*, std::string&, Need) override {}
  void Counted(const char*, std::vector<int>&, Need) override {}
  void Fixed(const char*, std::vector<int>&, size_t, Need) override {}
  void Rest(const char*, std::vector<int>&) override {}
  void Ignored(const char*) override {}
  bool found = false;
};

bool HasActivation(const Layer& layer) {
  ActivationFinder finder;
  layer.param->Visit(finder);
  return finder.found;
}

bool IsOneOf(const std::string& type, std::initializer_list<const char*> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool IsActivation(const std::string& type) {
  return IsOneOf(type,
                 {"ReLU", "ReLU6", "LeakyRelu", "PReLU", "Elu", "Selu", "GELU", "Swish", "HardSwish", "Softplus"});
}

}  // namespace

MeanSquares::Value MeanSquares::Of(const std::string& blob) const {
  const auto it = values_.find(blob);
  return it == values_.end() ? Value() : it->second;
}

void MeanSquares::AddLayer(const Layer& layer, bool drawn) {
  Value value = drawn ? Value{2, 0} : Output(layer);
  if (IsActivation(layer.type) || HasActivation(layer)) {
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
  if (IsOneOf(layer.type, {"Sigmoid", "HardSigmoid"})) return {0, 0.4};
  if (layer.type == "Tanh") return {std::min(input.Total(), 0.4), 0};
  if (IsOneOf(layer.type, {"InstBatchNormCxx", "LayerNorm", "GroupNorm"})) return {1, 0};
  if (two && IsOneOf(layer.type, {"Add", "Sub"})) {
    const Value other = Of(layer.inputs[1]);
    return {input.symmetric + other.symmetric, input.positive + other.positive};
  }
  if (two && layer.type == "Mul") {
    const double product = input.Total() * Of(layer.inputs[1]).Total();
    return input.symmetric > 0 ? Value{product, 0} : Value{0, product};
  }
  if (layer.type != "Concat" || layer.inputs.empty()) return input;
  Value mean{0, 0};
  for (const std::string& name : layer.inputs) {
    mean.symmetric += Of(name).symmetric / static_cast<double>(layer.inputs.size());
    mean.positive += Of(name).positive / static_cast<double>(layer.inputs.size());
  }
  return mean;
}

}  // namespace plumb
