// SPDX-License-Identifier: Apache-2.0
// The names of operators that NumPy's and PyTorch's users know, and the ONNX nodes that they stand for.
#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "session/call_graph.h"

namespace plumb {
namespace {

using onnx::GraphIr;
using onnx::NodeIr;

// A name that is one node. `attributes`: "given=ONNX's" of those that are called otherwise, and "name:=number" of
// those whose default is another.
struct OneNode {
  const char* name;
  const char* op_type;
  const char* attributes;
};

constexpr OneNode kOneNode[] = {
    {"softmax", "Softmax", "dim=axis"},
    {"log_softmax", "LogSoftmax", "dim=axis"},
    {"layer_norm", "LayerNormalization", "eps=epsilon"},
    {"rms_norm", "RMSNormalization", "eps=epsilon"},
    {"group_norm", "GroupNormalization", "eps=epsilon"},
    {"batch_norm", "BatchNormalization", "eps=epsilon"},
    {"instance_norm", "InstanceNormalization", "eps=epsilon"},
    {"scaled_dot_product_attention", "Attention", ""},
    {"attention", "Attention", ""},
    {"rope", "RotaryEmbedding", ""},
    {"gelu", "Gelu", ""},
    {"silu", "Swish", ""},
    {"mish", "Mish", ""},
    {"relu", "Relu", ""},
    {"leaky_relu", "LeakyRelu", "negative_slope=alpha"},
    {"elu", "Elu", ""},
    {"hardswish", "HardSwish", ""},
    {"sigmoid", "Sigmoid", ""},
    {"tanh", "Tanh", ""},
    {"softplus", "Softplus", ""},
    {"exp", "Exp", ""},
    {"log", "Log", ""},
    {"sqrt", "Sqrt", ""},
    {"sin", "Sin", ""},
    {"cos", "Cos", ""},
    {"erf", "Erf", ""},
    {"abs", "Abs", ""},
    {"add", "Add", ""},
    {"subtract", "Sub", ""},
    {"multiply", "Mul", ""},
    {"divide", "Div", ""},
    {"power", "Pow", ""},
    {"maximum", "Max", ""},
    {"minimum", "Min", ""},
    {"where", "Where", ""},
    {"matmul", "MatMul", ""},
    {"einsum", "Einsum", ""},
    {"conv", "Conv", "groups=group stride=strides padding=pads dilation=dilations"},
    {"conv_transpose", "ConvTranspose", "groups=group stride=strides padding=pads dilation=dilations"},
    {"max_pool", "MaxPool", "kernel_size=kernel_shape stride=strides padding=pads"},
    {"avg_pool", "AveragePool", "kernel_size=kernel_shape stride=strides padding=pads"},
    {"transpose", "Transpose", "axes=perm"},
    {"concatenate", "Concat", ""},
    {"embedding", "Gather", ""},
    {"argmax", "ArgMax", "dim=axis keepdims:=0"},
    {"argmin", "ArgMin", "dim=axis keepdims:=0"},
    {"cross_entropy", "SoftmaxCrossEntropyLoss", ""},
};

// A name whose axes ONNX takes as an input.
struct OverAxes {
  const char* name;
  const char* op_type;
  bool one_axis;  // a number, and keepdims is no attribute
};

constexpr OverAxes kOverAxes[] = {{"sum", "ReduceSum", false},   {"mean", "ReduceMean", false},
                                  {"max", "ReduceMax", false},   {"min", "ReduceMin", false},
                                  {"prod", "ReduceProd", false}, {"logsumexp", "ReduceLogSumExp", false},
                                  {"norm", "ReduceL2", false},   {"cumsum", "CumSum", true}};

// A name that is several nodes, one after the other; inputs and outputs by name, attributes of the call go to none.
struct SeveralNodes {
  const char* name;
  size_t inputs;
  std::vector<NodeIr> nodes;
  const char* shown;
};

NodeIr Step(const char* op_type, std::vector<std::string> inputs, const char* output) {
  NodeIr node;
  node.name = output;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

const std::vector<SeveralNodes>& AllSeveral() {
  static const auto* all = new std::vector<SeveralNodes>{
      {"rsqrt", 1, {Step("Sqrt", {"x0"}, "root"), Step("Reciprocal", {"root"}, "y0")}, "1 / Sqrt"},
      {"swiglu", 2, {Step("Swish", {"x0"}, "gate"), Step("Mul", {"gate", "x1"}, "y0")}, "Swish(x0) * x1"},
      {"geglu", 2, {Step("Gelu", {"x0"}, "gate"), Step("Mul", {"gate", "x1"}, "y0")}, "Gelu(x0) * x1"},
      {"square", 1, {Step("Mul", {"x0", "x0"}, "y0")}, "x0 * x0"},
  };
  return *all;
}

void Rename(const std::string& words, NodeIr* node) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const size_t at = word.find('=');
    if (word[at - 1] == ':') {
      onnx::AttributeIr value;
      value.kind = onnx::AttributeIr::kInt;
      value.i = std::stoll(word.substr(at + 1));
      node->attributes.emplace(word.substr(0, at - 1), value);
      continue;
    }
    auto given = node->attributes.extract(word.substr(0, at));
    if (given.empty()) continue;
    given.key() = word.substr(at + 1);
    node->attributes.insert(std::move(given));
  }
}

// One number for each of the two dims of an image, and for each of its ends, as PyTorch has it.
void GiveEachDim(const OperatorCall& call, NodeIr* node) {
  const size_t dims = call.inputs[0].shape().rank() < 2 ? 0 : static_cast<size_t>(call.inputs[0].shape().rank() - 2);
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"}) {
    const auto found = node->attributes.find(name);
    if (found == node->attributes.end()) continue;
    onnx::AttributeIr& value = found->second;
    if (value.kind == onnx::AttributeIr::kInt) value.ints.assign(dims, value.i);
    value.kind = onnx::AttributeIr::kInts;
    if (std::string(name) == "pads" && value.ints.size() == dims) {
      const std::vector<int64_t> once = value.ints;
      value.ints.insert(value.ints.end(), once.begin(), once.end());
    }
  }
}

Status AddOverAxes(const OperatorCall& call, const OverAxes& row, GraphIr* graph) {
  NodeIr node = NodeOf(call, row.op_type, 1);
  Rename("dim=axis keepdim=keepdims", &node);
  std::vector<int64_t> axes;
  const auto given = node.attributes.extract("axis");
  if (!given.empty())
    axes =
        given.mapped().kind == onnx::AttributeIr::kInts ? given.mapped().ints : std::vector<int64_t>{given.mapped().i};
  if (!row.one_axis) Rename("keepdims:=0", &node);
  if (row.one_axis && axes.size() != 1)
    return Status::InvalidArgument(fmt::format("{}: expected one axis, found {}", call.op, axes.size()));
  const int64_t count = static_cast<int64_t>(axes.size());
  if (count > 0) {
    PLUMB_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(DType::kI64, row.one_axis ? Shape{} : Shape{count}));
    std::copy(axes.begin(), axes.end(), value.data<int64_t>());
    graph->constants["axes"] = {value, onnx::kTypeInt64, ""};
    node.inputs.resize(1);
    node.inputs.emplace_back("axes");
  }
  graph->nodes.push_back(std::move(node));
  return Status::Ok();
}

// x W^T + b, as PyTorch has it, for x of any rank.
void AddLinear(const OperatorCall& call, GraphIr* graph) {
  NodeIr turned = Step("Transpose", {"x1"}, "turned");
  turned.attributes["perm"] = ToAttribute(std::vector<int64_t>{1, 0});
  const bool biased = call.inputs.size() > 2 && !call.inputs[2].empty();
  graph->nodes.push_back(std::move(turned));
  graph->nodes.push_back(Step("MatMul", {"x0", "turned"}, biased ? "product" : "y0"));
  if (biased) graph->nodes.push_back(Step("Add", {"product", "x2"}, "y0"));
}

}  // namespace

std::map<std::string, std::string> CallNames() {
  std::map<std::string, std::string> names;
  for (const OneNode& row : kOneNode)
    names[row.name] =
        fmt::format("{}{}", row.op_type, *row.attributes == 0 ? "" : fmt::format(" ({})", row.attributes));
  for (const OverAxes& row : kOverAxes) names[row.name] = fmt::format("{} (axis, keepdims:=0)", row.op_type);
  for (const SeveralNodes& row : AllSeveral()) names[row.name] = row.shown;
  names["linear"] = "MatMul(x0, Transpose(x1)) + x2";
  return names;
}

Result<bool> AddNamedNodes(const OperatorCall& call, size_t num_outputs, GraphIr* graph) {
  for (const OneNode& row : kOneNode) {
    if (call.op != row.name) continue;
    NodeIr node = NodeOf(call, row.op_type, num_outputs);
    Rename(row.attributes, &node);
    GiveEachDim(call, &node);
    graph->nodes.push_back(std::move(node));
    return true;
  }
  for (const OverAxes& row : kOverAxes) {
    if (call.op != row.name) continue;
    PLUMB_RETURN_IF_ERROR(AddOverAxes(call, row, graph));
    return true;
  }
  size_t inputs = 0;
  for (const SeveralNodes& row : AllSeveral()) {
    if (call.op != row.name) continue;
    inputs = row.inputs;
    graph->nodes = row.nodes;
  }
  const bool linear = call.op == "linear" && call.inputs.size() >= 2;
  if (linear) AddLinear(call, graph);
  if (graph->nodes.empty()) return false;
  if (!call.attributes.empty()) {
    return Status::InvalidArgument(fmt::format("{} has no attribute '{}'", call.op, call.attributes.begin()->first));
  }
  if (!linear && call.inputs.size() != inputs)
    return Status::InvalidArgument(fmt::format("{} takes {} inputs, found {}", call.op, inputs, call.inputs.size()));
  return true;
}

}  // namespace plumb
