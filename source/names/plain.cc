// SPDX-License-Identifier: Apache-2.0
#include "names/plain.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "format/onnx/import.h"
#include "format/tflite/import.h"
#include "names/blocked.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr int64_t kMaxTracedElements = int64_t{1} << 29;  // of all blobs: some twenty seconds

bool ReadsAny(const onnx::NodeIr& node, const std::set<std::string>& names) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const std::string& name) { return names.count(name) > 0; });
}

}  // namespace

std::string PlainGraph::BlobOf(std::string tensor) const {
  for (size_t steps = 0; blobs.count(tensor) == 0 && steps <= handed_on.size(); ++steps) {
    const auto found = handed_on.find(tensor);
    if (found == handed_on.end()) return "";
    tensor = found->second;
  }
  return tensor;
}

onnx::ModelIr WithoutLoops(const onnx::ModelIr& model) {
  onnx::ModelIr before = model;
  onnx::GraphIr& graph = before.graph;
  graph.nodes.clear();
  std::set<std::string> gone, made, read;
  for (const onnx::NodeIr& node : model.graph.nodes) {
    const bool loops = node.op_type == "Loop" || node.op_type == "If" || node.op_type == "Scan";
    if (loops || ReadsAny(node, gone)) {
      gone.insert(node.outputs.begin(), node.outputs.end());
      gone.erase("");
      continue;
    }
    made.insert(node.outputs.begin(), node.outputs.end());
    read.insert(node.inputs.begin(), node.inputs.end());
    graph.nodes.push_back(node);
  }
  graph.outputs.clear();
  for (const std::string& name : made) {
    if (name.empty() || read.count(name) > 0) continue;
    graph.outputs.emplace_back();
    graph.outputs.back().name = name;
  }
  return before;
}

Result<PlainGraph> ReadPlainGraph(const std::string& path, onnx::ModelIr model,
                                  const std::map<std::string, Shape>& shapes) {
  PlainGraph plain;
  FileNodes nodes;
  LoadOptions options;
  options.open_dims = OpenDims::kUsual;
  options.open_shapes = shapes;
  options.evaluator = ReferenceEvaluator();
  options.file_nodes = &nodes;
  if (EndsWith(path, ".tflite")) {
    PLUMB_ASSIGN_OR_RETURN(plain.graph, tflite::LoadTflite(path, options));
  } else {
    MakePlain(&model);
    PLUMB_ASSIGN_OR_RETURN(plain.graph, onnx::ImportAtAnyShape(model, options));
  }
  PLUMB_ASSIGN_OR_RETURN(plain.blobs, InferShapes(plain.graph));
  int64_t elements = 0;
  for (const auto& [name, info] : plain.blobs) elements += info.shape.NumElements();
  if (elements > kMaxTracedElements)
    return Status::NotSupported(fmt::format("'{}': its blobs have {} elements, too many to trace", path, elements));
  for (const FileNodes::Node& node : nodes.nodes) {
    if (node.fate != FileNodes::Fate::kHandedOn || node.inputs.empty()) continue;
    for (const std::string& output : node.outputs) plain.handed_on[output] = node.inputs[0];
  }
  return plain;
}

}  // namespace plumb
