// SPDX-License-Identifier: Apache-2.0
// The cause "weights of another layer": a product of the step that has the weights, the bias or both of a layer of its
// kind where these have its shape, as a table of weights that is off by one hands them out.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/cause/explainers.h"
#include "check/numbers/int8.h"

namespace plumb {
namespace {

constexpr size_t kMostOthers = 12;

// What a layer may have of another one.
struct Resources {
  const char* words;
  std::vector<std::string> names;
};
const Resources kOfOthers[] = {{"weights and bias", {"weight", "bias"}}, {"weights", {"weight"}}, {"bias", {"bias"}}};

bool HasSuch(const Layer& layer, const Layer& product, const std::string& resource) {
  const Tensor *own = product.Resource(resource), *other = layer.Resource(resource);
  return own != nullptr && other != nullptr && other->shape() == own->shape() && other->dtype() == own->dtype();
}

// Layers whose resources the product could have, the nearest first.
std::vector<const Layer*> LayersLike(const Graph& graph, const Layer& product, const Resources& resources) {
  std::vector<const Layer*> like;
  for (const Layer& layer : graph.layers) {
    const bool all = std::all_of(resources.names.begin(), resources.names.end(),
                                 [&](const std::string& name) { return HasSuch(layer, product, name); });
    if (all && layer.kind == product.kind && layer.name != product.name) like.push_back(&layer);
  }
  std::stable_sort(like.begin(), like.end(), [&](const Layer* a, const Layer* b) {
    return std::abs(a->index - product.index) < std::abs(b->index - product.index);
  });
  like.resize(std::min(like.size(), kMostOthers));
  return like;
}

double DistanceTo(const std::vector<Tensor>& device, const std::vector<Tensor>& values) {
  double squares = 0;
  for (size_t o = 0; o < device.size(); ++o) {
    for (int64_t i = 0; i < device[o].NumElements(); ++i)
      squares += std::pow(device[o].ValueAt(i) - values[o].ValueAt(i), 2);
  }
  return squares;
}

// Member m with those resources of another layer.
Alternative WithThoseOf(const LayerGroup& group, size_t m, const Layer& other, const Resources& resources) {
  Alternative a;
  a.computed = fmt::format("with the {} of '{}'", resources.words, other.name);
  a.says = "its own";
  a.family = "weights";
  a.group = group;
  auto layer = std::make_shared<Layer>(*group.members[m]);
  for (const std::string& name : resources.names) layer->resources[name] = *other.Resource(name);
  a.group.members[m] = layer.get();
  a.layers = {std::move(layer)};
  return a;
}

}  // namespace

std::optional<Answer> ExplainAsOtherWeights(const Question& q) {
  constexpr double kMuchCloser = 0.25;  // of the squares
  const ReplayedStep step = StepOf(q);
  const double own = DistanceTo(step.device, step.replay.values);
  std::vector<Alternative> found;
  for (size_t m = 0; m < step.group.members.size(); ++m) {
    if (!IsProduct(*step.group.members[m])) continue;
    for (const Resources& resources : kOfOthers) {
      for (const Layer* other : LayersLike(*q.scene.graph, *step.group.members[m], resources)) {
        Alternative a = WithThoseOf(step.group, m, *other, resources);
        const auto values = ReplayValues(a.group, step.inputs, step.blobs);
        if (values.ok() && DistanceTo(step.device, values->values) < kMuchCloser * own) found.push_back(std::move(a));
      }
    }
  }
  return CausesAmong(found, q, step);
}

}  // namespace plumb
