// SPDX-License-Identifier: Apache-2.0
#include "check/subject/judged_graph.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "device/grouped_step.h"
#include "op/core/op.h"

namespace plumb {
namespace {

class Contraction {
 public:
  Contraction(const Graph& graph, const ImportRecord& record, const BlobSource& subject)
      : graph_(graph), record_(record), subject_(subject) {
    for (size_t i = 0; i < graph.layers.size(); ++i) {
      for (const std::string& blob : graph.layers[i].outputs) producer_[blob] = i;
      for (const std::string& blob : graph.layers[i].inputs) readers_[blob].push_back(i);
    }
    for (const Layer& whole : record.wholes.layers) Take(whole);
  }

  JudgedGraph Make() const {
    JudgedGraph judged;
    judged.graph = graph_;
    judged.graph.layers.clear();
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      const auto it = whole_of_.find(i);
      if (it == whole_of_.end()) {
        judged.graph.layers.push_back(graph_.layers[i]);
        continue;
      }
      const Layer& whole = *it->second;
      judged.members[whole.name].push_back(MemberOf(graph_.layers[i]));
      if (whole.index == graph_.layers[i].index) judged.graph.layers.push_back(whole);
    }
    for (const Layer& layer : judged.graph.layers) {
      for (const std::string& blob : layer.inputs) {
        const auto it = record_.wholes.constants.find(blob);
        if (it != record_.wholes.constants.end()) judged.graph.constants.insert(*it);
      }
    }
    return judged;
  }

 private:
  void Take(const Layer& whole) {
    std::set<size_t> members;
    std::vector<std::string> open = whole.outputs;
    while (!open.empty()) {
      const std::string blob = open.back();
      open.pop_back();
      const auto it = producer_.find(blob);
      const bool outside = std::find(whole.inputs.begin(), whole.inputs.end(), blob) != whole.inputs.end();
      if (it == producer_.end() || outside || !members.insert(it->second).second) continue;
      const Layer& layer = graph_.layers[it->second];
      open.insert(open.end(), layer.inputs.begin(), layer.inputs.end());
    }
    if (!Closed(whole, members)) return;
    for (const size_t member : members) whole_of_[member] = &whole;
  }

  // Whether nothing between the members is seen from outside.
  bool Closed(const Layer& whole, const std::set<size_t>& members) const {
    if (members.empty() || graph_.layers[*members.rbegin()].index != whole.index) return false;
    for (const size_t member : members) {
      for (const std::string& blob : graph_.layers[member].outputs) {
        if (std::find(whole.outputs.begin(), whole.outputs.end(), blob) != whole.outputs.end()) continue;
        const auto& outputs = graph_.outputs;
        if (subject_.Has(blob) || std::find(outputs.begin(), outputs.end(), blob) != outputs.end()) return false;
        const auto readers = readers_.find(blob);
        if (readers == readers_.end()) continue;
        const auto inside = [&](size_t reader) { return members.count(reader) != 0; };
        if (!std::all_of(readers->second.begin(), readers->second.end(), inside)) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const ImportRecord& record_;
  const BlobSource& subject_;
  std::map<std::string, size_t> producer_;
  std::map<std::string, std::vector<size_t>> readers_;
  std::map<size_t, const Layer*> whole_of_;
};

// Puts the layers that compute constants back, where the subject has other bits.
class Constants {
 public:
  Constants(const ImportRecord::Part& folded, const BlobSource& subject, const Graph& graph)
      : folded_(folded), subject_(subject), graph_(graph) {
    for (size_t i = 0; i < folded.layers.size(); ++i) {
      for (const std::string& blob : folded.layers[i].outputs) producer_[blob] = i;
    }
  }

  // The float blobs of the layers that were put back.
  std::vector<std::string> Computed() const {
    std::vector<std::string> blobs;
    for (const size_t i : needed_) {
      for (const std::string& blob : folded_.layers[i].outputs) {
        if (IsFloat(folded_.constants.at(blob).dtype())) blobs.push_back(blob);
      }
    }
    return blobs;
  }

  // The graph with them; nothing when there are none.
  std::optional<Graph> Unfold() {
    std::vector<size_t> roots;
    for (const auto& [blob, layer] : producer_) {
      if (Differs(blob, blob)) roots.push_back(layer);
    }
    for (const Layer& layer : graph_.layers) {  // a network output that is a constant
      const bool handed_out = layer.kind == OpKind::kIdentity && producer_.count(layer.inputs[0]) != 0;
      if (handed_out && Differs(layer.outputs[0], layer.inputs[0])) roots.push_back(producer_.at(layer.inputs[0]));
    }
    if (roots.empty()) return {};
    if (Try(roots, true)) return std::move(unfolded_);
    for (const size_t root : roots) {  // what must be known before the network runs stays a constant
      if (!Try({root}, true)) Try({root}, false);
    }
    return needed_.empty() ? std::nullopt : std::make_optional(std::move(unfolded_));
  }

 private:
  // Whether the subject's tensor of that name has other bits than the constant. In another shape it is the runtime's
  // own (weights that were turned, say), and nothing to judge.
  bool Differs(const std::string& name, const std::string& constant) const {
    if (!subject_.Has(name)) return false;
    const Tensor& ours = folded_.constants.at(constant);
    const auto theirs = subject_.Load(name);
    return theirs.ok() && theirs->dtype() == ours.dtype() && theirs->shape() == ours.shape() &&
           std::memcmp(theirs->raw(), ours.raw(), ours.bytes()) != 0;
  }

  // Puts these layers back, `deep`: with those before them whose outputs the subject has not. False: shapes would not
  // be known.
  bool Try(const std::vector<size_t>& roots, bool deep) {
    const std::set<size_t> before = needed_;
    for (const size_t root : roots) Need(root, deep);
    Graph with = With();
    if (InferShapes(with).ok()) {
      unfolded_ = std::move(with);
      return true;
    }
    needed_ = before;
    return false;
  }

  void Need(size_t layer, bool deep) {
    if (!needed_.insert(layer).second || !deep) return;
    for (const std::string& blob : folded_.layers[layer].inputs) {
      const auto it = producer_.find(blob);
      if (it != producer_.end() && !subject_.Has(blob)) Need(it->second, deep);
    }
  }

  Graph With() const {
    Graph graph = graph_;
    std::vector<Layer> layers;
    for (const size_t i : needed_) layers.push_back(folded_.layers[i]);
    for (const Layer& layer : layers) {
      for (const std::string& blob : layer.inputs) {
        const auto value = folded_.constants.find(blob);
        if (value != folded_.constants.end()) graph.constants.insert(*value);
      }
    }
    for (const Layer& layer : layers) {
      for (const std::string& blob : layer.outputs) graph.constants.erase(blob);
    }
    for (Layer& layer : graph.layers) {
      for (auto& [slot, weight] : layer.resources) TakeSubjects(&weight);
    }
    graph.layers.insert(graph.layers.begin(), layers.begin(), layers.end());
    return graph;
  }

  // A weight shares the constant's memory; one that was transposed on the way stays ours.
  void TakeSubjects(Tensor* weight) const {
    for (const size_t i : needed_) {
      for (const std::string& blob : folded_.layers[i].outputs) {
        if (weight->raw() != folded_.constants.at(blob).raw() || !subject_.Has(blob)) continue;
        const auto theirs = subject_.Load(blob);
        if (!theirs.ok() || theirs->NumElements() != weight->NumElements() || theirs->dtype() != weight->dtype())
          continue;
        const auto shaped = theirs->Reshaped(weight->shape());
        if (shaped.ok()) *weight = *shaped;
        return;
      }
    }
  }

  const ImportRecord::Part& folded_;
  const BlobSource& subject_;
  const Graph& graph_;
  Graph unfolded_;  // as far as it went
  std::map<std::string, size_t> producer_;
  std::set<size_t> needed_;
};

}  // namespace

JudgedGraph MakeJudgedGraph(const Graph& graph, const ImportRecord& record, const BlobSource& subject) {
  JudgedGraph judged = Contraction(graph, record, subject).Make();
  Constants constants(record.folded, subject, judged.graph);
  std::optional<Graph> unfolded = constants.Unfold();
  if (!unfolded) return judged;
  judged.graph = std::move(*unfolded);
  judged.computed = constants.Computed();
  return judged;
}

}  // namespace plumb
