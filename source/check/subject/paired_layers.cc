// SPDX-License-Identifier: Apache-2.0
#include "check/subject/paired_layers.h"

#include <algorithm>
#include <set>

#include "interop/pairing.h"

namespace plumb {
namespace {

// "layer1.0.conv" of "/layer1/layer1.0/conv/Conv": a part that begins with the path so far stands for both.
std::string ModulePath(const std::string& node) {
  std::string path;
  for (size_t begin = node.find('/'); begin != std::string::npos;) {
    const size_t end = node.find('/', ++begin);
    if (end == std::string::npos) return path;  // the node itself
    const std::string part = node.substr(begin, end - begin);
    const bool whole = path.empty() || part.rfind(path + ".", 0) == 0;
    path = whole ? part : path + "." + part;
    begin = end;
  }
  return path;
}

bool IsIn(const std::string& path, const std::string& module) {
  return path == module || path.rfind(module + ".", 0) == 0;
}

class LayerFinder {
 public:
  explicit LayerFinder(const Graph& graph) : graph_(graph) {
    for (const Layer& layer : graph.layers) {
      std::vector<std::string> names = layer.nodes;
      names.push_back(layer.name);
      std::set<std::string> keys;
      for (const std::string& name : names) keys.insert(LettersAndDigits(name));
      for (const std::string& key : keys) by_name_[key].push_back(&layer);
      modules_.push_back(ModulePath(layer.nodes.empty() ? layer.name : layer.nodes.back()));
    }
    for (const GraphInput& input : graph.inputs) inputs_.insert(input.name);
  }

  // The blob, or "".
  std::string Find(const StoredTensor& tensor) const {
    const auto slot = static_cast<size_t>(tensor.slot);
    const auto named = by_name_.find(LettersAndDigits(tensor.layer));
    if (named != by_name_.end() && named->second.size() == 1) {
      const Layer& layer = *named->second[0];
      const std::vector<std::string>& blobs = tensor.is_read ? layer.inputs : layer.outputs;
      if (slot >= blobs.size()) return "";
      return !tensor.is_read || inputs_.count(blobs[slot]) != 0 ? blobs[slot] : "";
    }
    if (slot != 0) return "";
    return tensor.is_read ? InputOf(tensor.layer) : OutputOf(tensor.layer);
  }

 private:
  // The only blob that leaves the module.
  std::string OutputOf(const std::string& module) const {
    std::set<std::string> written, leaving;
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      const Layer& layer = graph_.layers[i];
      if (IsIn(modules_[i], module)) written.insert(layer.outputs.begin(), layer.outputs.end());
    }
    for (const std::string& output : graph_.outputs) {
      if (written.count(output) != 0) leaving.insert(output);
    }
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      if (IsIn(modules_[i], module)) continue;
      for (const std::string& input : graph_.layers[i].inputs) {
        if (written.count(input) != 0) leaving.insert(input);
      }
    }
    return leaving.size() == 1 ? *leaving.begin() : "";
  }

  // The only network input that the module reads, when it reads nothing else from outside.
  std::string InputOf(const std::string& module) const {
    std::set<std::string> written, read;
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      if (!IsIn(modules_[i], module)) continue;
      written.insert(graph_.layers[i].outputs.begin(), graph_.layers[i].outputs.end());
      read.insert(graph_.layers[i].inputs.begin(), graph_.layers[i].inputs.end());
    }
    for (const std::string& blob : written) read.erase(blob);
    return read.size() == 1 && inputs_.count(*read.begin()) != 0 ? *read.begin() : "";
  }

  const Graph& graph_;
  std::map<std::string, std::vector<const Layer*>> by_name_;
  std::vector<std::string> modules_;  // of each layer
  std::set<std::string> inputs_;
};

}  // namespace

std::map<std::string, size_t> PairLayers(const Graph& graph, const std::vector<StoredTensor>& tensors,
                                         const std::vector<size_t>& left) {
  std::map<std::string, size_t> pairs;
  if (std::none_of(left.begin(), left.end(), [&](size_t i) { return !tensors[i].layer.empty(); })) return pairs;
  const LayerFinder finder(graph);
  for (const size_t i : left) {
    const std::string blob = tensors[i].layer.empty() ? "" : finder.Find(tensors[i]);
    if (!blob.empty()) pairs.emplace(blob, i);  // of several (a module and its last child) the first
  }
  return pairs;
}

}  // namespace plumb
