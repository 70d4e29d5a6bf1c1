// SPDX-License-Identifier: Apache-2.0
#include "check/subject/subject_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "op/core/op.h"

namespace plumb {
namespace {

class ConeFinder {
 public:
  ConeFinder(const Graph& graph, const BlobTable& blobs, const std::function<bool(const std::string&)>& known)
      : graph_(graph), blobs_(blobs), known_(known) {
    for (size_t i = 0; i < graph.layers.size(); ++i) {
      if (!Runs(graph.layers[i])) continue;
      for (const std::string& output : graph.layers[i].outputs) producer_[output] = static_cast<int>(i);
    }
  }

  std::vector<Cone> Find() {
    std::vector<std::set<int>> sets;
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      const Layer& layer = graph_.layers[i];
      if (!Runs(layer) || std::none_of(layer.outputs.begin(), layer.outputs.end(), known_)) continue;
      sets.emplace_back();
      Grow(static_cast<int>(i), &sets.back());
    }
    Merge(&sets);
    std::set<int> covered;
    std::map<int, Cone> by_last;
    for (const std::set<int>& members : sets) {
      covered.insert(members.begin(), members.end());
      by_last[*members.rbegin()] = MakeCone(members, true);
    }
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      const int index = static_cast<int>(i);
      if (Runs(graph_.layers[i]) && covered.count(index) == 0) by_last[index] = MakeCone({index}, false);
    }
    std::vector<Cone> cones;
    for (auto& entry : by_last) cones.push_back(std::move(entry.second));
    return cones;
  }

 private:
  bool HasValue(const std::string& blob) const { return !blobs_.at(blob).value.empty(); }

  bool Runs(const Layer& layer) const {
    return !std::all_of(layer.outputs.begin(), layer.outputs.end(), [&](const std::string& b) { return HasValue(b); });
  }

  // The layer and all before it that no known blob cuts off.
  void Grow(int layer, std::set<int>* members) const {
    std::vector<int> open = {layer};
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      if (!members->insert(next).second) continue;
      for (const std::string& blob : LayerAt(next).inputs) {
        const auto it = producer_.find(blob);
        if (it != producer_.end() && !HasValue(blob) && !known_(blob)) open.push_back(it->second);
      }
    }
  }

  // True when everything that the members read from outside was there before the first of them ran.
  bool ReadsOnlyEarlier(const std::set<int>& members) const {
    for (int member : members) {
      for (const std::string& blob : LayerAt(member).inputs) {
        const auto it = producer_.find(blob);
        if (it != producer_.end() && !HasValue(blob) && known_(blob) && it->second >= *members.begin()) return false;
      }
    }
    return true;
  }

  // A DequantizeLinear, or what moves what one reads or makes: each reader of a quantised tensor is a step of its own.
  bool HandsOnIntegers(const Layer& layer) const {
    if (layer.kind == OpKind::kPlumbDequantizeLinear) return true;
    if (!GetOp(layer.kind).moves_data_only || layer.inputs.empty()) return false;
    const auto maker = producer_.find(layer.inputs[0]);
    const bool of_reals = maker != producer_.end() && LayerAt(maker->second).kind == OpKind::kPlumbDequantizeLinear;
    return of_reals || !IsFloat(blobs_.at(layer.inputs[0]).dtype);
  }

  void Merge(std::vector<std::set<int>>* sets) const {
    std::map<int, size_t> owner;  // layer -> the set that has it
    std::vector<std::set<int>> merged;
    for (std::set<int>& members : *sets) {
      std::set<int> all = members;
      std::set<size_t> joined;
      for (int member : members) {
        const auto it = owner.find(member);
        if (it != owner.end() && !HandsOnIntegers(LayerAt(member))) joined.insert(it->second);
      }
      for (size_t s : joined) all.insert(merged[s].begin(), merged[s].end());
      if (!joined.empty() && !ReadsOnlyEarlier(all)) {
        merged.push_back(std::move(members));  // shares layers, which are replayed for both
        continue;
      }
      for (size_t s : joined) merged[s].clear();
      for (int member : all) owner[member] = merged.size();
      merged.push_back(std::move(all));
    }
    merged.erase(std::remove_if(merged.begin(), merged.end(), [](const std::set<int>& s) { return s.empty(); }),
                 merged.end());
    *sets = std::move(merged);
  }

  Cone MakeCone(const std::set<int>& members, bool is_known) const {
    Cone cone;
    cone.known = is_known;
    std::set<std::string> internal;
    for (int member : members) AddMember(LayerAt(member), is_known, &internal, &cone);
    if (cone.group.outputs.empty() || !is_known) SetOutputs(cone.group.last(), &cone.group);
    return cone;
  }

  void AddMember(const Layer& layer, bool is_known, std::set<std::string>* internal, Cone* cone) const {
    const int m = static_cast<int>(cone->group.members.size());
    cone->group.members.push_back(&layer);
    for (size_t slot = 0; slot < layer.inputs.size(); ++slot) {
      const std::string& blob = layer.inputs[slot];
      if (internal->count(blob) != 0) continue;
      cone->group.inputs.push_back({m, static_cast<int>(slot), blob});
      if (producer_.count(blob) == 0 && !HasValue(blob) && !known_(blob)) cone->missing = blob;
    }
    for (size_t slot = 0; slot < layer.outputs.size(); ++slot) {
      const std::string& blob = layer.outputs[slot];
      if (is_known && known_(blob)) {
        cone->group.outputs.push_back({m, static_cast<int>(slot), blob});
      } else {
        internal->insert(blob);
      }
    }
  }

  static void SetOutputs(const Layer& last, LayerGroup* group) {
    group->outputs.clear();
    const int m = static_cast<int>(group->members.size()) - 1;
    for (size_t slot = 0; slot < last.outputs.size(); ++slot)
      group->outputs.push_back({m, static_cast<int>(slot), last.outputs[slot]});
  }

  const Layer& LayerAt(int i) const { return graph_.layers[static_cast<size_t>(i)]; }

  const Graph& graph_;
  const BlobTable& blobs_;
  const std::function<bool(const std::string&)>& known_;
  std::map<std::string, int> producer_;
};

}  // namespace

std::vector<Cone> FindCones(const Graph& graph, const BlobTable& blobs,
                            const std::function<bool(const std::string&)>& known) {
  return ConeFinder(graph, blobs, known).Find();
}

}  // namespace plumb
