// SPDX-License-Identifier: Apache-2.0
// The weights of a graph of ONNX nodes: what each constant is follows from the operator that reads it.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "session/weight_set.h"

namespace plumb {
namespace {

using onnx::NodeIr;

int64_t IntOf(const NodeIr& node, const char* name, int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.i;
}

Result<Tensor> Transposed2D(const Tensor& from) {
  const int64_t rows = from.shape()[0], columns = from.shape()[1];
  PLUMB_ASSIGN_OR_RETURN(Tensor to, Tensor::Create(DType::kF32, {columns, rows}));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to.data<float>()[c * rows + r] = from.data<float>()[r * columns + c];
  }
  return to;
}

// A constant that a node reads, however it comes to it.
struct NodeConstant {
  std::string name;  // the initializer's
  Tensor value;      // f32; empty: it is none
  std::string stored;
  std::vector<float> steps;
};

class NodeWeights {
 public:
  explicit NodeWeights(const onnx::ModelIr& model) : graph_(model.graph) {
    for (const NodeIr& node : graph_.nodes) {
      for (const std::string& output : node.outputs) writers_[output] = &node;
    }
  }

  Result<WeightSet> Run() {
    for (const NodeIr& node : graph_.nodes) {
      if (node.op_type == "BatchNormalization") {
        PLUMB_RETURN_IF_ERROR(Norm(node));
      } else if (node.op_type != "DequantizeLinear" && node.op_type != "QuantizeLinear") {
        for (size_t i = 0; i < node.inputs.size(); ++i) PLUMB_RETURN_IF_ERROR(Input(node, i));
      }
    }
    set_.has_graph = true;
    return std::move(set_);
  }

 private:
  static constexpr int kMaxSteps = 8;  // of nodes between a constant and its reader

  const onnx::ConstantIr* Held(const std::string& name) const {
    const auto found = graph_.constants.find(name);
    if (found != graph_.constants.end()) return &found->second;
    const auto writer = writers_.find(name);
    if (writer == writers_.end() || writer->second->op_type != "Constant") return nullptr;
    const auto value = writer->second->attributes.find("value");
    return value == writer->second->attributes.end() ? nullptr : &value->second.tensor;
  }

  // With an empty value: no constant, or none of real numbers.
  Result<NodeConstant> Resolve(const std::string& name, int depth = 0) const {
    NodeConstant constant;
    if (const onnx::ConstantIr* held = Held(name)) {
      if (held->value.empty() || !IsFloat(held->value.dtype())) return constant;
      constant.name = name;
      constant.stored = held->type == onnx::kTypeFloat16 ? "f16" : held->type == onnx::kTypeBfloat16 ? "bf16" : "f32";
      PLUMB_ASSIGN_OR_RETURN(constant.value, held->value.ConvertedTo(DType::kF32));
      return constant;
    }
    const auto writer = writers_.find(name);
    if (writer == writers_.end() || depth > kMaxSteps) return constant;
    const NodeIr& node = *writer->second;
    if (node.op_type == "DequantizeLinear") return Dequantized(node);
    const bool same = node.op_type == "Identity" || node.op_type == "Cast" || node.op_type == "Reshape" ||
                      node.op_type == "Unsqueeze" || node.op_type == "Squeeze";
    const bool turned = node.op_type == "Transpose";
    if ((!same && !turned) || node.inputs.empty()) return constant;
    PLUMB_ASSIGN_OR_RETURN(constant, Resolve(node.inputs[0], depth + 1));
    if (!turned || constant.value.empty()) return constant;
    if (constant.value.shape().rank() != 2) return NodeConstant();
    PLUMB_ASSIGN_OR_RETURN(constant.value, Transposed2D(constant.value));
    return constant;
  }

  Result<NodeConstant> Dequantized(const NodeIr& node) const {
    NodeConstant constant;
    const onnx::ConstantIr* held = node.inputs.size() < 2 ? nullptr : Held(node.inputs[0]);
    const onnx::ConstantIr* scale = held == nullptr ? nullptr : Held(node.inputs[1]);
    const bool has_zero = node.inputs.size() > 2 && !node.inputs[2].empty();
    const onnx::ConstantIr* zero = scale == nullptr || !has_zero ? nullptr : Held(node.inputs[2]);
    if (scale == nullptr || held->value.empty() || scale->value.empty() || (zero != nullptr && zero->value.empty()))
      return constant;
    const Shape& shape = held->value.shape();
    const int64_t scales = scale->value.NumElements();
    int64_t axis = IntOf(node, "axis", 1);
    if (axis < 0) axis += shape.rank();
    const bool fits = scales == 1 || (axis >= 0 && axis < shape.rank() && shape[static_cast<int>(axis)] == scales);
    if (!fits || (zero != nullptr && zero->value.NumElements() != scales)) return constant;
    PLUMB_ASSIGN_OR_RETURN(constant.value, Tensor::Create(DType::kF32, shape));
    const int64_t inner = scales == 1 ? 1 : shape.CountFrom(static_cast<int>(axis) + 1);
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      const int64_t which = scales == 1 ? 0 : i / inner % scales;
      const double q = held->value.ValueAt(i) - (zero == nullptr ? 0 : zero->value.ValueAt(which));
      constant.value.data<float>()[i] = static_cast<float>(q * scale->value.ValueAt(which));
    }
    for (int64_t i = 0; i < scales; ++i) constant.steps.push_back(static_cast<float>(scale->value.ValueAt(i)));
    if (scales > 1 && axis != 0)  // one for all, where they are not along the first axis
      constant.steps = {*std::max_element(constant.steps.begin(), constant.steps.end())};
    constant.name = node.inputs[0];
    constant.stored = held->type == onnx::kTypeInt32 ? "i32" : held->type == onnx::kTypeUint8 ? "u8" : "i8";
    return constant;
  }

  // The product or convolution that wrote the value; null: something else.
  const NodeIr* ProductOf(const std::string& name) const {
    const auto writer = writers_.find(name);
    if (writer == writers_.end()) return nullptr;
    const std::string& type = writer->second->op_type;
    return type == "MatMul" || type == "Conv" || type == "ConvTranspose" || type == "Gemm" ? writer->second : nullptr;
  }

  static std::string LayerOf(const NodeIr& node) {
    return !node.name.empty() ? node.name : node.outputs.empty() ? "" : node.outputs[0];
  }

  static void AddKeys(const NodeIr& node, const char* role, WeightTensor* tensor) {
    tensor->keys = {tensor->name, WeightKey(tensor->name)};
    std::vector<std::string> names = {node.name, ModuleOfNode(node.name)};
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
    for (const std::string& name : names) {
      if (role[0] != '\0' && !name.empty()) tensor->keys.push_back(WeightKey(name + "." + role));
    }
  }

  Status Input(const NodeIr& node, size_t i) {
    const std::string& type = node.op_type;
    const bool conv = type == "Conv" || type == "ConvTranspose", product = type == "Gemm" || type == "MatMul";
    const bool passes = type == "Identity" || type == "Cast" || type == "Reshape" || type == "Transpose" ||
                        type == "Unsqueeze" || type == "Squeeze";
    if (passes) return Status::Ok();  // its reader says what it is
    PLUMB_ASSIGN_OR_RETURN(NodeConstant constant, Resolve(node.inputs[i]));
    if (constant.value.empty() || constant.value.NumElements() < 2 || !seen_.insert(constant.name).second)
      return Status::Ok();
    WeightTensor tensor;
    tensor.name = constant.name;
    tensor.stored = constant.stored;
    tensor.value = constant.value;
    tensor.steps = constant.steps;
    tensor.is_weight = (conv || product) && i == 1 && tensor.value.shape().rank() >= 2;
    tensor.is_bias = (conv || type == "Gemm") && i == 2;
    tensor.out_axis = type == "ConvTranspose" ? 1 : 0;
    const NodeIr* owner = &node;
    if (type == "Add" && node.inputs.size() == 2) {
      const NodeIr* before = ProductOf(node.inputs[1 - i]);
      if (before != nullptr) tensor.is_bias = true, owner = before;
    }
    tensor.layer = LayerOf(*owner);
    const bool in_out = type == "MatMul" || (type == "Gemm" && IntOf(node, "transB", 0) == 0);
    if (tensor.is_weight && product && in_out && tensor.value.shape().rank() == 2) {
      PLUMB_ASSIGN_OR_RETURN(tensor.value, Transposed2D(tensor.value));
      if (tensor.steps.size() > 1) tensor.steps = {*std::max_element(tensor.steps.begin(), tensor.steps.end())};
    }
    AddKeys(*owner, tensor.is_weight ? "weight" : tensor.is_bias ? "bias" : "", &tensor);
    set_.tensors.push_back(std::move(tensor));
    return Status::Ok();
  }

  Status Norm(const NodeIr& node) {
    WeightNorm norm;
    norm.name = LayerOf(node);
    const auto epsilon = node.attributes.find("epsilon");
    norm.epsilon = epsilon == node.attributes.end() ? 1e-5 : static_cast<double>(epsilon->second.f);
    int* const places[] = {&norm.gamma, &norm.beta, &norm.mean, &norm.variance};
    constexpr const char* kRoles[] = {"weight", "bias", "running_mean", "running_var"};
    for (size_t i = 0; i < 4 && i + 1 < node.inputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(NodeConstant constant, Resolve(node.inputs[i + 1]));
      if (constant.value.empty()) return Status::Ok();
      WeightTensor tensor;
      tensor.name = constant.name;
      tensor.layer = norm.name;
      tensor.stored = constant.stored;
      tensor.value = constant.value;
      AddKeys(node, kRoles[i], &tensor);
      *places[i] = static_cast<int>(set_.tensors.size());
      set_.tensors.push_back(std::move(tensor));
    }
    if (norm.variance >= 0) set_.norms.push_back(norm);
    return Status::Ok();
  }

  const onnx::GraphIr& graph_;
  std::map<std::string, const NodeIr*> writers_;
  std::set<std::string> seen_;
  WeightSet set_;
};

}  // namespace

Result<WeightSet> WeightsOfNodes(const onnx::ModelIr& model) {
  PLUMB_ASSIGN_OR_RETURN(WeightSet set, NodeWeights(model).Run());
  set.description = model.format;
  return set;
}

}  // namespace plumb
