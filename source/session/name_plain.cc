// SPDX-License-Identifier: Apache-2.0
#include "session/name_plain.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "format/onnx/import.h"
#include "format/tflite/import.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr const char* kNchwcDomain = "com.microsoft.nchwc";
constexpr int64_t kMaxTracedElements = int64_t{1} << 29;  // of all blobs: some twenty seconds

bool HasFlag(const onnx::NodeIr& node, const char* name) {
  const auto found = node.attributes.find(name);
  return found != node.attributes.end() && found->second.i != 0;
}

onnx::NodeIr TransposeNode(const std::string& input, const std::string& output, std::vector<int64_t> axes) {
  onnx::NodeIr node;
  node.name = output + "/axes";
  node.op_type = "Transpose";
  node.inputs = {input};
  node.outputs = {output};
  onnx::AttributeIr& perm = node.attributes["perm"];
  perm.kind = onnx::AttributeIr::kInts;
  perm.ints = std::move(axes);
  return node;
}

std::string AddInts(onnx::GraphIr* graph, const std::string& name, int64_t value) {
  auto tensor = Tensor::Zeros(DType::kI64, {1});
  if (!tensor.ok()) return name;
  tensor->data<int64_t>()[0] = value;
  onnx::ConstantIr& constant = graph->constants[name];
  constant.value = *tensor;
  constant.type = onnx::kTypeInt64;
  return name;
}

// Out of the blocks: the channels that are no padding, and last where it says so.
void AddReorderedOutput(onnx::NodeIr node, onnx::GraphIr* graph, std::vector<onnx::NodeIr>* nodes) {
  const auto channels = node.attributes.find("channels");
  const bool last = HasFlag(node, "channels_last");
  const std::string output = node.outputs[0], middle = last ? output + "/channels" : output;
  onnx::NodeIr slice;
  slice.name = node.name;
  slice.op_type = "Slice";
  slice.outputs = {middle};
  slice.inputs = {node.inputs[0], AddInts(graph, output + "/begin", 0),
                  AddInts(graph, output + "/end", channels == node.attributes.end() ? INT32_MAX : channels->second.i),
                  AddInts(graph, output + "/axis", 1)};
  nodes->push_back(std::move(slice));
  if (last) nodes->push_back(TransposeNode(middle, output, {0, 2, 3, 1}));
}

// Whole factors as an attribute become Resize's input.
onnx::NodeIr ResizeNode(onnx::NodeIr node, onnx::GraphIr* graph) {
  const std::vector<int64_t> factors = node.attributes["scales"].ints;
  auto scales = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(factors.size())});
  if (!scales.ok() || factors.empty()) return node;
  std::copy(factors.begin(), factors.end(), scales->data<float>());
  const std::string name = node.outputs[0] + "/scales";
  graph->constants[name].value = *scales;
  graph->constants[name].type = onnx::kTypeFloat;
  node.op_type = "Resize";
  node.domain = "";
  node.inputs = {node.inputs[0], "", name};
  node.attributes.erase("scales");
  onnx::AttributeIr floor;
  floor.kind = onnx::AttributeIr::kString;
  floor.s = "floor";
  node.attributes.emplace("nearest_mode", floor);
  floor.s = "asymmetric";
  node.attributes.emplace("coordinate_transformation_mode", floor);
  return node;
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

bool MakePlain(onnx::ModelIr* model) {
  bool blocked = false;
  std::vector<onnx::NodeIr> nodes;
  for (onnx::NodeIr& node : model->graph.nodes) {
    const bool enters = node.op_type == "ReorderInput" && !node.inputs.empty() && !node.outputs.empty();
    const bool leaves = node.op_type == "ReorderOutput" && !node.inputs.empty() && !node.outputs.empty();
    blocked = blocked || node.domain == kNchwcDomain;
    if (node.domain != kNchwcDomain) {
      nodes.push_back(std::move(node));
    } else if (enters && HasFlag(node, "channels_last")) {
      nodes.push_back(TransposeNode(node.inputs[0], node.outputs[0], {0, 3, 1, 2}));
    } else if (node.op_type == "Upsample" && !node.inputs.empty() && !node.outputs.empty()) {
      nodes.push_back(ResizeNode(std::move(node), &model->graph));
    } else if (leaves) {
      AddReorderedOutput(std::move(node), &model->graph, &nodes);
    } else {
      if (enters) node.op_type = "Identity";
      const bool fused = node.op_type == "Conv" && (node.attributes.count("activation") > 0 || node.inputs.size() > 3);
      if (fused) node.op_type = "FusedConv";
      node.domain = fused ? "com.microsoft" : "";
      nodes.push_back(std::move(node));
    }
  }
  model->graph.nodes = std::move(nodes);
  model->opsets.emplace("com.microsoft", 1);
  return blocked;
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
    plain.blocked = MakePlain(&model);
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
