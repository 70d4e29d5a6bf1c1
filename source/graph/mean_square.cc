#include "graph/mean_square.h"

#include <algorithm>
#include <cstring>

#include "op/op.h"

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

}  // namespace

double MeanSquares::Of(const std::string& blob) const {
  const auto it = values_.find(blob);
  return it == values_.end() ? 1.0 : it->second;
}

void MeanSquares::AddLayer(const Layer& layer, bool drawn) {
  double value = drawn ? 2.0 : Output(layer);
  if (HasActivation(layer)) value *= 0.5;
  value = std::min(std::max(value, 1e-6), 1e6);
  for (const std::string& name : layer.outputs) values_[name] = value;
}

double MeanSquares::Output(const Layer& layer) const {
  const double input = Input(layer);
  const bool two = layer.inputs.size() == 2;
  if (IsOneOf(layer.type, {"ReLU", "ReLU6", "LeakyRelu", "PReLU", "Elu", "Selu", "GELU", "Swish", "HardSwish", "Softplus"})) {
    return 0.5 * input;  // half of a symmetric distribution
  }
  if (IsOneOf(layer.type, {"Sigmoid", "HardSigmoid", "Tanh"})) return std::min(input, 0.4);
  if (IsOneOf(layer.type, {"InstBatchNormCxx", "LayerNorm", "GroupNorm"})) return 1.0;
  if (two && IsOneOf(layer.type, {"Add", "Sub"})) return input + Of(layer.inputs[1]);
  if (two && layer.type == "Mul") return input * Of(layer.inputs[1]);
  if (layer.type == "Concat") {
    double sum = 0;
    for (const std::string& name : layer.inputs) sum += Of(name);
    return sum / static_cast<double>(layer.inputs.size());
  }
  return input;
}

}  // namespace plumb
