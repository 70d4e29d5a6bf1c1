// SPDX-License-Identifier: Apache-2.0
#include "session/weight_pairs.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

// Names that exporters count up: the same name in two files need not be the same tensor.
bool IsCounted(const std::string& name) {
  for (const char* stem : {"::", "arith.constant", "_v_", "val_"}) {
    if (name.find(stem) != std::string::npos) return true;
  }
  const bool letters = std::any_of(name.begin(), name.end(), [](char c) { return c < '0' || c > '9'; });
  return !letters || name.rfind("const", 0) == 0 || name.rfind("Const", 0) == 0;
}

std::map<std::string, std::vector<size_t>> ByWeightKey(const WeightSet& set) {
  std::map<std::string, std::vector<size_t>> found;
  for (size_t i = 0; i < set.tensors.size(); ++i) {
    for (const std::string& key : set.tensors[i].keys) {
      std::vector<size_t>& places = found[key];
      if (!IsCounted(key) && (places.empty() || places.back() != i)) places.push_back(i);
    }
  }
  return found;
}

// The sum of the values' sizes: nearly the same in any order of the axes and any narrower type.
double SizeOfValues(const Tensor& tensor) {
  double sum = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) sum += std::abs(double{tensor.data<float>()[i]});
  return sum;
}

bool IsConstantValue(const Tensor& tensor) {
  const float* values = tensor.data<float>();
  return std::all_of(values, values + tensor.NumElements(), [&](float value) { return value == values[0]; });
}

}  // namespace

WeightPairing::WeightPairing(const WeightSet& original, const WeightSet& converted)
    : a_(original), b_(converted), partners_(original.tensors.size()), taken_(converted.tensors.size()) {
  ByName();
  ByValues(true);
  WithTheirLayer();
  ByValues(false);
  WithTheirNorm();
  ByShape();
  WithTheirLayer();
}

int WeightPairing::BiasOf(const WeightSet& set, size_t weight) {
  for (size_t i = 0; i < set.tensors.size(); ++i) {
    const bool own = !set.tensors[weight].layer.empty() && set.tensors[i].layer == set.tensors[weight].layer;
    if (own && set.tensors[i].is_bias) return static_cast<int>(i);
  }
  return -1;
}

void WeightPairing::Pair(size_t a, size_t b, const char* by) {
  partners_[a] = {static_cast<int>(b), by};
  taken_[b] = true;
}

void WeightPairing::ByName() {
  const auto in_a = ByWeightKey(a_), in_b = ByWeightKey(b_);
  for (size_t i = 0; i < a_.tensors.size(); ++i) {
    for (const std::string& key : a_.tensors[i].keys) {
      const auto mine = in_a.find(key), other = in_b.find(key);
      if (other == in_b.end() || mine->second.size() != 1 || other->second.size() != 1) continue;
      const size_t j = other->second[0];
      const bool fits = a_.tensors[i].value.NumElements() == b_.tensors[j].value.NumElements();
      if (taken_[j] || (!fits && key != a_.tensors[i].keys[0])) continue;
      Pair(i, j, "name");
      break;
    }
  }
}

// Each has one partner whose values say so, or none.
void WeightPairing::ByValues(bool weights) {
  std::vector<double> sizes(b_.tensors.size(), 0);
  for (size_t j = 0; j < b_.tensors.size(); ++j) sizes[j] = SizeOfValues(b_.tensors[j].value);
  std::map<size_t, std::vector<size_t>> exact, scaled, wanted;
  for (size_t i = 0; i < a_.tensors.size(); ++i) {
    const Tensor& value = a_.tensors[i].value;
    const bool several = value.shape().rank() >= 2 && value.NumElements() >= 8;
    if (partners_[i].place >= 0 || several != weights || IsConstantValue(value)) continue;
    const double size = SizeOfValues(value);
    for (size_t j = 0; j < b_.tensors.size(); ++j) {
      if (taken_[j] || b_.tensors[j].value.NumElements() != value.NumElements()) continue;
      const WeightMatch match = MatchWeights(a_.tensors[i], b_.tensors[j], true);
      if (match.kind == WeightMatch::kNone || (match.kind == WeightMatch::kScaled && !weights)) continue;
      const bool near = std::abs(sizes[j] - size) <= 0.02 * size;
      if (match.kind != WeightMatch::kScaled && near) exact[i].push_back(j), wanted[j].push_back(i);
      if (match.kind == WeightMatch::kScaled) scaled[i].push_back(j);
    }
  }
  for (const auto& [i, found] : exact) {
    if (found.size() == 1 && wanted[found[0]].size() == 1) Pair(i, found[0], "values");
  }
  std::map<size_t, size_t> scaled_to;  // how many want it
  for (const auto& [i, found] : scaled) {
    for (const size_t j : found) scaled_to[j] += partners_[i].place < 0;
  }
  for (const auto& [i, found] : scaled) {
    const bool one = found.size() == 1 && partners_[i].place < 0 && !taken_[found[0]];
    if (one && scaled_to[found[0]] == 1) Pair(i, found[0], "values");
  }
}

// A bias goes with the weight of its layer.
void WeightPairing::WithTheirLayer() {
  for (size_t i = 0; i < a_.tensors.size(); ++i) {
    if (!a_.tensors[i].is_weight || partners_[i].place < 0) continue;
    const int a = BiasOf(a_, i), b = BiasOf(b_, static_cast<size_t>(partners_[i].place));
    if (a < 0 || b < 0) continue;
    const auto mine = static_cast<size_t>(a), other = static_cast<size_t>(b);
    if (partners_[mine].place < 0 && !taken_[other]) Pair(mine, other, "layer");
  }
}

// A batch norm goes as a whole.
void WeightPairing::WithTheirNorm() {
  for (const WeightNorm& a : a_.norms) {
    for (const WeightNorm& b : b_.norms) {
      const std::pair<int, int> places[] = {
          {a.mean, b.mean}, {a.variance, b.variance}, {a.gamma, b.gamma}, {a.beta, b.beta}};
      const bool one = std::any_of(std::begin(places), std::end(places), [&](const auto& place) {
        return place.first >= 0 && partners_[static_cast<size_t>(place.first)].place == place.second &&
               place.second >= 0;
      });
      for (const auto& [mine, other] : places) {
        if (!one || mine < 0 || other < 0) continue;
        if (partners_[static_cast<size_t>(mine)].place < 0 && !taken_[static_cast<size_t>(other)])
          Pair(static_cast<size_t>(mine), static_cast<size_t>(other), "layer");
      }
    }
  }
}

// As many weights of one shape on both sides, in the order of their files.
void WeightPairing::ByShape() {
  std::map<std::vector<int64_t>, std::pair<std::vector<size_t>, std::vector<size_t>>> left;
  for (size_t i = 0; i < a_.tensors.size(); ++i) {
    if (partners_[i].place < 0 && a_.tensors[i].is_weight) left[a_.tensors[i].value.shape().dims()].first.push_back(i);
  }
  for (size_t j = 0; j < b_.tensors.size(); ++j) {
    if (!taken_[j] && b_.tensors[j].is_weight) left[b_.tensors[j].value.shape().dims()].second.push_back(j);
  }
  for (const auto& [dims, places] : left) {
    for (size_t k = 0; places.first.size() == places.second.size() && k < places.first.size(); ++k)
      Pair(places.first[k], places.second[k], "shape");
  }
}

}  // namespace plumb
