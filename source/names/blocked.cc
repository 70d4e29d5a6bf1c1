// SPDX-License-Identifier: Apache-2.0
#include "names/blocked.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace plumb {
namespace {

constexpr const char* kNchwcDomain = "com.microsoft.nchwc";

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

// What neither another order nor zeros change.
std::vector<float> SortedValues(const Tensor& value) {
  const float* begin = value.data<float>();
  std::vector<float> values(begin, begin + value.NumElements());
  values.erase(std::remove(values.begin(), values.end(), 0.0f), values.end());
  std::sort(values.begin(), values.end());
  return values;
}

using NamedConstants = std::map<std::string, Tensor>;

// Of f32, also as nodes of their own and handed on.
NamedConstants ConstantsOf(const onnx::GraphIr& graph) {
  NamedConstants constants;
  const auto add = [&](const std::string& name, const Tensor& value) {
    if (!value.empty() && value.dtype() == DType::kF32) constants.emplace(name, value);
  };
  for (const auto& [name, constant] : graph.constants) add(name, constant.value);
  for (const onnx::NodeIr& node : graph.nodes) {
    if (node.outputs.size() != 1) continue;
    const auto value = node.attributes.find("value");
    if (node.op_type == "Constant" && value != node.attributes.end()) add(node.outputs[0], value->second.tensor.value);
    const auto same =
        node.op_type == "Identity" && node.inputs.size() == 1 ? constants.find(node.inputs[0]) : constants.end();
    if (same != constants.end()) add(node.outputs[0], Tensor(same->second));
  }
  return constants;
}

const Tensor* ConstantInput(const NamedConstants& constants, const onnx::NodeIr& node, size_t i) {
  const auto found = i < node.inputs.size() ? constants.find(node.inputs[i]) : constants.end();
  return found == constants.end() ? nullptr : &found->second;
}

// A convolution's weights with the batch norm behind it, as an optimiser folds them; empty: that is none.
Tensor FoldedFilter(const NamedConstants& constants, const onnx::NodeIr& convolution, const onnx::NodeIr& norm) {
  const Tensor* weight = ConstantInput(constants, convolution, 1);
  const Tensor* gamma = ConstantInput(constants, norm, 1);
  const Tensor* variance = ConstantInput(constants, norm, 4);
  const bool fits = weight != nullptr && gamma != nullptr && variance != nullptr && weight->shape().rank() == 4 &&
                    gamma->NumElements() == weight->shape()[0] && variance->NumElements() == weight->shape()[0];
  auto folded = fits ? weight->Clone() : Result<Tensor>(Tensor());
  if (!folded.ok() || folded->empty()) return Tensor();
  const auto epsilon = norm.attributes.find("epsilon");
  const double added = epsilon == norm.attributes.end() ? 1e-5 : static_cast<double>(epsilon->second.f);
  const int64_t inner = folded->shape().CountFrom(1);
  for (int64_t i = 0, count = folded->NumElements(); i < count; ++i) {
    const double scale = gamma->ValueAt(i / inner) / std::sqrt(variance->ValueAt(i / inner) + added);
    folded->data<float>()[i] = static_cast<float>(weight->ValueAt(i) * scale);
  }
  return *folded;
}

// A filter in the order of the file; its values in order.
struct PlainFilter {
  Tensor tensor;
  std::vector<float> values;
};

// The model's, also with the batch norm behind them.
std::vector<PlainFilter> FiltersOf(const onnx::ModelIr& model) {
  std::vector<PlainFilter> filters;
  const auto add = [&](const Tensor& value) {
    if (!value.empty() && value.shape().rank() == 4) filters.push_back({value, SortedValues(value)});
  };
  const NamedConstants constants = ConstantsOf(model.graph);
  for (const auto& [name, value] : constants) add(value);
  std::map<std::string, const onnx::NodeIr*> convolutions;
  for (const onnx::NodeIr& node : model.graph.nodes) {
    if (node.op_type == "Conv" && !node.outputs.empty()) convolutions[node.outputs[0]] = &node;
    const auto made = node.op_type == "BatchNormalization" && !node.inputs.empty() ? convolutions.find(node.inputs[0])
                                                                                   : convolutions.end();
    if (made != convolutions.end()) add(FoldedFilter(constants, *made->second, node));
  }
  return filters;
}

bool SameButForRounding(const std::vector<float>& x, const std::vector<float>& y) {
  if (x.size() != y.size() || x.empty()) return false;
  const float allowed = 3e-6f * std::max(std::abs(x.front()), std::abs(x.back()));
  return std::equal(x.begin(), x.end(), y.begin(), [=](float a, float b) { return std::abs(a - b) <= allowed; });
}

// The only one that holds the values of `blocked`; empty: none or several.
Tensor FilterOf(const Tensor& blocked, const std::vector<PlainFilter>& filters) {
  const std::vector<float> values = SortedValues(blocked);
  Tensor found;
  for (const PlainFilter& filter : filters) {
    const Shape &x = filter.tensor.shape(), &y = blocked.shape();
    const bool fits = x[0] <= y[0] && x[1] <= y[1] && x[2] == y[2] && x[3] == y[3];
    if (!fits || !SameButForRounding(filter.values, values)) continue;
    const bool again =
        !found.empty() && found.shape() == x && std::memcmp(found.raw(), filter.tensor.raw(), found.bytes()) == 0;
    if (!found.empty() && !again) return Tensor();
    found = filter.tensor;
  }
  return found;
}

// The first `count` values, where there are more.
Result<Tensor> FirstValues(const Tensor& value, int64_t count) {
  if (value.dtype() != DType::kF32 || value.NumElements() <= count) return value;
  PLUMB_ASSIGN_OR_RETURN(Tensor first, Tensor::Create(DType::kF32, {count}));
  std::copy_n(value.data<float>(), count, first.data<float>());
  return first;
}

}  // namespace

void MakePlain(onnx::ModelIr* model) {
  std::vector<onnx::NodeIr> nodes;
  for (onnx::NodeIr& node : model->graph.nodes) {
    const bool enters = node.op_type == "ReorderInput" && !node.inputs.empty() && !node.outputs.empty();
    const bool leaves = node.op_type == "ReorderOutput" && !node.inputs.empty() && !node.outputs.empty();
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
}

void TakeBlockedWeights(const onnx::ModelIr& first, onnx::ModelIr* second) {
  auto& constants = second->graph.constants;
  std::vector<PlainFilter> filters;
  for (onnx::NodeIr& node : second->graph.nodes) {
    if (node.domain != kNchwcDomain || node.op_type != "Conv" || node.inputs.size() < 2) continue;
    const auto weight = constants.find(node.inputs[1]);
    const bool blocked = weight != constants.end() && weight->second.value.shape().rank() == 4 &&
                         weight->second.value.dtype() == DType::kF32;
    if (!blocked) continue;
    if (filters.empty()) filters = FiltersOf(first);
    const Tensor plain = FilterOf(weight->second.value, filters);
    if (plain.empty()) continue;
    onnx::ConstantIr made = weight->second;
    made.value = plain;
    const auto group = node.attributes.find("group");
    const bool own = group != node.attributes.end() && group->second.i == weight->second.value.shape()[0];
    if (own) group->second.i = plain.shape()[0];  // each channel has its own filter
    node.inputs[1] = node.outputs[0] + "/weight";
    constants[node.inputs[1]] = made;
    const auto bias = node.inputs.size() > 2 ? constants.find(node.inputs[2]) : constants.end();
    if (bias == constants.end() || bias->second.value.empty()) continue;
    made = bias->second;
    const auto trimmed = FirstValues(bias->second.value, plain.shape()[0]);
    if (!trimmed.ok()) continue;
    made.value = *trimmed;
    node.inputs[2] = node.outputs[0] + "/bias";
    constants[node.inputs[2]] = made;
  }
}

}  // namespace plumb
