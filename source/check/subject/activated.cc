// SPDX-License-Identifier: Apache-2.0
#include "check/subject/activated.h"

#include <algorithm>
#include <limits>

#include "op/activation.h"

namespace plumb {
namespace {

// REQUIRES: a ReLU, ReLU6 or Clip.
ActivationRange ActivationOf(const Layer& layer) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (layer.kind != OpKind::kClip) return {layer.outputs[0], 0, layer.kind == OpKind::kReLU6 ? 6 : kInfinity};
  const auto& clip = ParamOf<ClipParam>(layer);
  return {layer.outputs[0], clip.min, clip.max};
}

}  // namespace

std::map<std::string, ActivationRange> SoleActivations(const Graph& graph) {
  std::map<std::string, int> readers;
  for (const std::string& output : graph.outputs) ++readers[output];
  for (const Layer& layer : graph.layers) {
    for (const std::string& blob : layer.inputs) ++readers[blob];
  }
  for (const GraphInput& input : graph.inputs) ++readers[input.name];  // no layer's result
  std::map<std::string, ActivationRange> found;
  for (const Layer& layer : graph.layers) {
    const bool clips = layer.kind == OpKind::kReLU || layer.kind == OpKind::kReLU6 || layer.kind == OpKind::kClip;
    if (clips && readers.at(layer.inputs[0]) == 1) found[layer.inputs[0]] = ActivationOf(layer);
  }
  return found;
}

bool IsActivated(const Tensor& value, const ActivationRange& activation) {
  if (value.dtype() != DType::kF32) return false;
  const float* x = value.data<float>();
  bool on_edge = false;
  for (int64_t i = 0; i < value.NumElements(); ++i) {
    if (!(x[i] >= activation.low && x[i] <= activation.high)) return false;
    on_edge = on_edge || x[i] == activation.low || x[i] == activation.high;
  }
  return on_edge;
}

}  // namespace plumb
