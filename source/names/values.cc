// SPDX-License-Identifier: Apache-2.0
#include "names/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "interop/pairing.h"
#include "interop/tensor_set.h"
#include "session/graph_values.h"

namespace plumb {
namespace {

constexpr double kSameValue = 1e-4;  // of the largest: rounding, whatever the order of the sums
constexpr int64_t kFewest = 16;      // elements; fewer agree by chance
constexpr size_t kDistinct = 8;      // values among them

double LargestValue(const Tensor& x) {
  double most = 0;
  for (int64_t i = 0, count = x.NumElements(); i < count; ++i) {
    const double value = std::abs(x.ValueAt(i));
    if (!std::isfinite(value)) return value;
    most = std::max(most, value);
  }
  return most;
}

bool IsTelling(const Tensor& x, double most) {
  if (x.NumElements() < kFewest || most == 0 || !std::isfinite(most)) return false;
  std::set<int64_t> distinct;
  for (int64_t i = 0, count = x.NumElements(); i < count && distinct.size() < kDistinct; ++i)
    distinct.insert(static_cast<int64_t>(x.ValueAt(i) / most / (10 * kSameValue)));
  return distinct.size() >= kDistinct;
}

bool IsTellingInEachRun(const ValuedTensor& x) {
  for (size_t run = 0; run < x.runs.size(); ++run) {
    if (!IsTelling(x.runs[run], x.largest[run])) return false;
  }
  return !x.runs.empty();
}

bool HoldsSame(const Tensor& x, const Tensor& y, double largest) {
  if (x.NumElements() != y.NumElements() || IsFloat(x.dtype()) != IsFloat(y.dtype())) return false;
  for (int64_t i = 0, count = x.NumElements(); i < count; ++i) {
    if (!(std::abs(x.ValueAt(i) - y.ValueAt(i)) <= kSameValue * largest)) return false;
  }
  return true;
}

bool FitsInEachRun(const ValuedTensor& x, const ValuedTensor& y) {
  if (x.runs.size() != y.runs.size()) return false;
  for (size_t run = 0; run < x.runs.size(); ++run) {
    if (!HoldsSame(x.runs[run], y.runs[run], std::max(x.largest[run], y.largest[run]))) return false;
  }
  return true;
}

// The only one that fits; null: none or several.
const ValuedTensor* OnlyFit(const ValuedTensor& x, const std::vector<ValuedTensor>& among) {
  const ValuedTensor* found = nullptr;
  for (const ValuedTensor& one : among) {
    if (!FitsInEachRun(x, one)) continue;
    if (found != nullptr) return nullptr;
    found = &one;
  }
  return found;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PairByValue(std::vector<ValuedTensor> model,
                                                             std::vector<ValuedTensor> other,
                                                             const std::set<std::string>& left) {
  for (auto* side : {&model, &other}) {
    for (ValuedTensor& tensor : *side) {
      for (const Tensor& run : tensor.runs) tensor.largest.push_back(LargestValue(run));
    }
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const ValuedTensor& theirs : other) {
    if (left.count(theirs.name) == 0 || !IsTellingInEachRun(theirs)) continue;
    const ValuedTensor* ours = OnlyFit(theirs, model);
    if (ours != nullptr && OnlyFit(*ours, other) == &theirs) pairs.emplace_back(ours->name, theirs.name);
  }
  return pairs;
}

Result<std::vector<ValuedTensor>> RunForValues(const PlainGraph& plain, const std::vector<std::string>& tensors,
                                               const std::set<int64_t>& counts,
                                               const std::vector<std::map<std::string, Tensor>>& inputs) {
  std::vector<ValuedTensor> valued;
  std::vector<std::string> blob_of;
  std::set<std::string> blobs;
  for (const std::string& tensor : tensors) {
    const std::string blob = plain.BlobOf(tensor);
    const auto info = plain.blobs.find(blob);
    if (info == plain.blobs.end() || counts.count(info->second.shape.NumElements()) == 0) continue;
    if (info->second.value.empty() && blobs.insert(blob).second) {
      valued.push_back({tensor, {}, {}});
      blob_of.push_back(blob);
    }
  }
  const auto graph = std::make_shared<const Graph>(plain.graph);
  for (const auto& given : inputs) {
    PLUMB_ASSIGN_OR_RETURN(const auto values, GraphValues(graph, given, nullptr, blobs, {}));
    for (size_t i = 0; i < valued.size(); ++i) {
      const auto found = values.find(blob_of[i]);
      valued[i].runs.push_back(found == values.end() ? Tensor() : found->second);
    }
  }
  return valued;
}

Result<std::vector<ValuedTensor>> ReadForValues(const std::string& path, const std::vector<std::string>& tensors) {
  PLUMB_ASSIGN_OR_RETURN(const TensorSet set, TensorSet::Open(path));
  std::vector<std::string> stored;
  for (const StoredTensor& tensor : set.tensors()) stored.push_back(tensor.name);
  PLUMB_ASSIGN_OR_RETURN(const NamePairing pairing, PairNames(tensors, stored, {}));
  if (pairing.pairs.empty())
    return Status::InvalidArgument(fmt::format("'{}': no tensor bears a name of the graph's", path));
  std::vector<ValuedTensor> valued;
  for (const auto& [graph, file] : pairing.pairs) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, set.tensors()[file].load());
    valued.push_back({tensors[graph], {tensor}, {}});
  }
  return valued;
}

}  // namespace plumb
