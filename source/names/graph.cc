// SPDX-License-Identifier: Apache-2.0
#include "names/graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/text.h"
#include "format/onnx/parse.h"
#include "format/tflite/import.h"
#include "plumb/model.h"

namespace plumb {
namespace {

constexpr const char* kBlockedDomain = "com.microsoft.nchwc";
// How plumb-golden --graph calls what is no tensor of the runtime: a step of an operator that ONNX writes as several.
constexpr const char* kStepOfOwnGraph = "plumb:step/";

// Operators that are one for the purpose, by the name of the simplest.
std::string OneName(const std::string& type) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"FusedConv", "Conv"},         {"FusedGemm", "Gemm"},    {"Flatten", "Reshape"},
      {"Squeeze", "Reshape"},        {"Unsqueeze", "Reshape"}, {"ReduceMean", "Mean"},
      {"GlobalAveragePool", "Mean"}, {"ReduceMax", "Max all"}, {"GlobalMaxPool", "Max all"}};
  for (const auto& [name, one] : kNames) {
    if (type == name) return one;
  }
  return type;
}

void AddToMark(double value, ConstantMark* mark) {
  if (value == 0) return;
  mark->least = mark->count == 0 ? value : std::min(mark->least, value);
  mark->most = mark->count == 0 ? value : std::max(mark->most, value);
  mark->count += 1;
  mark->sum += value;
  mark->squares += value * value;
  mark->fourths += value * value * value * value;
}

class NameGraphBuilder {
 public:
  NameGraphBuilder(const onnx::ModelIr& model, bool tflite) : ir_(model.graph), tflite_(tflite) {}

  std::unique_ptr<NameGraph> Run() {
    auto graph = std::make_unique<NameGraph>();
    graph_ = graph.get();
    for (const auto& [name, constant] : ir_.constants) fixed_.insert(name);
    fixed_.insert("");
    for (const onnx::NodeIr& node : ir_.nodes) {
      for (const std::string& output : node.outputs) makers_[output] = &node;
    }
    graph_->nodes.reserve(ir_.nodes.size());
    for (const auto& input : ir_.inputs) {
      if (fixed_.count(input.name) == 0) graph_->inputs.push_back(input.name);
    }
    for (const auto& output : ir_.outputs) graph_->outputs.push_back(output.name);
    for (const onnx::NodeIr& node : ir_.nodes) Add(node);
    for (NameNode& node : graph_->nodes) {
      for (const std::string& output : node.outputs) graph_->writer[output] = &node;
      for (const std::string& name : node.data) graph_->readers[name].push_back(&node);
    }
    for (NameNode& node : graph_->nodes) FindNorm(&node);
    return graph;
  }

 private:
  void Add(const onnx::NodeIr& node) {
    if (node.outputs.empty()) return;  // it makes nothing that could have a name
    const bool constant = node.op_type == "Constant" || node.op_type == "Shape" ||
                          std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](const std::string& name) { return fixed_.count(name) > 0; });
    if (constant) {
      fixed_.insert(node.outputs.begin(), node.outputs.end());
      return;
    }
    for (const std::string& output : node.outputs) {
      if (!output.empty() && output.rfind(kStepOfOwnGraph, 0) != 0) graph_->tensors.push_back(output);
    }
    MarkForeign(node);
    if (PassesOn(node)) {
      graph_->same_as[node.outputs[0]] = graph_->Canonical(node.inputs[0]);
      return;
    }
    NameNode made;
    made.op = OneName(node.op_type);
    made.attributes = node.attributes;
    const auto activation = node.attributes.find("activation");
    if (activation != node.attributes.end()) made.activation = activation->second.s;
    for (const std::string& name : node.inputs) {
      if (fixed_.count(name) == 0) made.data.push_back(graph_->Canonical(name));
      const Tensor* value = ValueOf(name);
      if (value != nullptr && IsFloat(value->dtype())) made.constants.push_back(MarkOf(name, *value));
    }
    made.outputs = node.outputs;
    sources_[graph_->nodes.size()] = &node;
    graph_->nodes.push_back(std::move(made));
  }

  bool PassesOn(const onnx::NodeIr& node) const {
    if (node.inputs.empty() || node.outputs.empty()) return false;
    const std::string& type = node.op_type;
    if (type == "Identity" || type == "Dropout" || type == "ReorderInput") return true;
    if (type == "ReorderOutput") return !IsSet(node, "channels_last");
    if (!tflite_ || type != "Transpose") return false;
    const auto perm = node.attributes.find("perm");  // from the file's layout into the other, and back
    if (perm == node.attributes.end()) return false;
    const std::vector<int64_t>& axes = perm->second.ints;
    return axes == std::vector<int64_t>{0, 3, 1, 2} || axes == std::vector<int64_t>{0, 2, 3, 1};
  }

  void MarkForeign(const onnx::NodeIr& node) {
    const bool leaves = node.op_type == "ReorderOutput";
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](const std::string& name) { return graph_->foreign.count(name) > 0; });
    if (!leaves && (node.domain == kBlockedDomain || reads))
      graph_->foreign.insert(node.outputs.begin(), node.outputs.end());
  }

  // A constant, also one that only changes its shape or the order of its values on the way; null: none.
  const Tensor* ValueOf(const std::string& name, int depth = 0) const {
    constexpr int kMaxDepth = 8;
    const auto held = ir_.constants.find(name);
    if (held != ir_.constants.end()) return held->second.value.empty() ? nullptr : &held->second.value;
    const auto maker = makers_.find(name);
    if (maker == makers_.end() || depth > kMaxDepth) return nullptr;
    const onnx::NodeIr& node = *maker->second;
    if (node.op_type == "Constant") {
      const auto value = node.attributes.find("value");
      const bool tensor = value != node.attributes.end() && !value->second.tensor.value.empty();
      return tensor ? &value->second.tensor.value : nullptr;
    }
    const std::string op = OneName(node.op_type);
    const bool moves = op == "Reshape" || op == "Transpose" || op == "Identity" || op == "Cast";
    return moves && !node.inputs.empty() ? ValueOf(node.inputs[0], depth + 1) : nullptr;
  }

  static ConstantMark MarkOf(const std::string& name, const Tensor& value) {
    ConstantMark mark;
    mark.name = name;
    for (int64_t i = 0; i < value.NumElements(); ++i) AddToMark(value.ValueAt(i), &mark);
    return mark;
  }

  // A batch norm that alone reads a convolution can be folded into it.
  void FindNorm(NameNode* node) const {
    if (node->op != "Conv" && node->op != "ConvTranspose" && node->op != "Gemm") return;
    const NameNode* reader = node->outputs.empty() ? nullptr : graph_->OnlyReader(node->outputs[0]);
    if (reader == nullptr || reader->op != "BatchNormalization" || !node->Weighted()) return;
    const auto place = [&](const NameNode* which) {
      return sources_.at(static_cast<size_t>(which - graph_->nodes.data()));
    };
    const onnx::NodeIr& norm = *place(reader);
    const Tensor* weight = ValueOf(place(node)->inputs[1]);
    const Tensor* gamma = norm.inputs.size() < 5 ? nullptr : ValueOf(norm.inputs[1]);
    const Tensor* variance = gamma == nullptr ? nullptr : ValueOf(norm.inputs[4]);
    const int axis = node->op == "Conv" || (node->op == "Gemm" && IsSet(*place(node), "transB")) ? 0 : 1;
    if (variance == nullptr || weight == nullptr || weight->shape().DimOrOne(axis) != variance->NumElements() ||
        gamma->NumElements() != variance->NumElements())
      return;
    const auto epsilon = norm.attributes.find("epsilon");
    const double added = epsilon == norm.attributes.end() ? 1e-5 : static_cast<double>(epsilon->second.f);
    const int64_t inner = weight->shape().CountFrom(axis + 1), channels = variance->NumElements();
    for (int64_t i = 0; i < weight->NumElements(); ++i) {
      const int64_t channel = i / inner % channels;
      AddToMark(weight->ValueAt(i) * gamma->ValueAt(channel) / std::sqrt(variance->ValueAt(channel) + added),
                &node->folded);
    }
    node->norm = reader;
  }

  static bool IsSet(const onnx::NodeIr& node, const char* name) {
    const auto found = node.attributes.find(name);
    return found != node.attributes.end() && found->second.i != 0;
  }

  const onnx::GraphIr& ir_;
  const bool tflite_;
  NameGraph* graph_ = nullptr;
  std::set<std::string> fixed_;  // what follows from constants and shapes
  std::map<std::string, const onnx::NodeIr*> makers_;
  std::map<size_t, const onnx::NodeIr*> sources_;
};

}  // namespace

double MarkDistance(const ConstantMark& a, const ConstantMark& b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (a.count == 0 || b.count == 0) return a.count == b.count ? 0 : kInfinite;
  if (std::abs(a.count - b.count) > 0.1 * a.count) return kInfinite;  // rounding makes zeros
  const double size = std::sqrt(a.squares / a.count);
  const auto ratio = [](double x, double y) { return std::abs(x - y) / std::max(std::abs(x), std::abs(y)); };
  return std::max({std::abs(a.sum - b.sum) / (a.count * size), ratio(a.squares, b.squares), ratio(a.fourths, b.fourths),
                   std::abs(a.least - b.least) / size, std::abs(a.most - b.most) / size});
}

bool NameNode::Weighted() const {
  constexpr double kTelling = 8;
  constexpr const char* kElementWise[] = {"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Max", "Min", "Where"};
  const bool element_wise = std::find(std::begin(kElementWise), std::end(kElementWise), op) != std::end(kElementWise);
  return !element_wise && !constants.empty() && constants[0].count >= kTelling;
}

std::string NameGraph::Canonical(const std::string& name) const {
  const auto found = same_as.find(name);
  return found == same_as.end() ? name : found->second;
}

const NameNode* NameGraph::OnlyReader(const std::string& name) const {
  const auto found = readers.find(name);
  return found == readers.end() || found->second.size() != 1 ? nullptr : found->second[0];
}

const NameNode* NameGraph::Writer(const std::string& name) const {
  const auto found = writer.find(name);
  return found == writer.end() ? nullptr : found->second;
}

Result<NameModel> ReadNameModel(const std::string& path) {
  NameModel read;
  if (EndsWith(path, ".onnx")) {
    PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenSource(path));
    PLUMB_ASSIGN_OR_RETURN(read.ir, onnx::ParseModel(source, path));
    read.graph = NameGraphBuilder(read.ir, false).Run();
    return read;
  }
  if (!EndsWith(path, ".tflite"))
    return Status::InvalidArgument(
        fmt::format("'{}': names are suggested between two graphs, each an .onnx or .tflite file", path));
  PLUMB_ASSIGN_OR_RETURN(read.ir, tflite::NodesOf(path));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ModelTensor> listed, ModelTensors(path));
  read.graph = NameGraphBuilder(read.ir, true).Run();
  std::set<std::string> own;  // others are steps of a translated operator
  for (const ModelTensor& tensor : listed) own.insert(tensor.name);
  std::vector<std::string>& tensors = read.graph->tensors;
  const auto made = [&](const std::string& name) { return own.count(name) == 0; };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), made), tensors.end());
  return read;
}

}  // namespace plumb
