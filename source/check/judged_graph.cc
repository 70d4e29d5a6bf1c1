#include "check/judged_graph.h"

#include <algorithm>
#include <set>

namespace plumb {
namespace {

class Contraction {
 public:
  Contraction(const Graph& graph, const ImportRecord& record, const std::function<bool(const std::string&)>& known)
      : graph_(graph), record_(record), known_(known) {
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
        if (known_(blob) || std::find(outputs.begin(), outputs.end(), blob) != outputs.end()) return false;
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
  const std::function<bool(const std::string&)>& known_;
  std::map<std::string, size_t> producer_;
  std::map<std::string, std::vector<size_t>> readers_;
  std::map<size_t, const Layer*> whole_of_;
};

}  // namespace

MemberInfo MemberOf(const Layer& layer) {
  return {layer.index, layer.name, layer.type, layer.nodes.empty() ? std::vector<std::string>{layer.name} : layer.nodes};
}

JudgedGraph MakeJudgedGraph(const Graph& graph, const ImportRecord& record, const std::function<bool(const std::string& blob)>& known) {
  return Contraction(graph, record, known).Make();
}

}  // namespace plumb
