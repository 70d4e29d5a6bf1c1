// SPDX-License-Identifier: Apache-2.0
#include "session/call_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/text.h"
#include "format/onnx/import.h"
#include "format/onnx/importer.h"
#include "format/tnn/types.h"
#include "op/core/named_params.h"
#include "op/core/op.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr int kMostTrials = 8;  // inputs that must be known are found one after the other

// Their weights and statistics are constants wherever they run, and so they are here: the reference reads them as such.
bool TakesWeights(const std::string& op_type) {
  static const auto* names = new std::set<std::string>{
      "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "BatchNormalization", "InstanceNormalization"};
  return names->count(op_type) > 0;
}

bool IsModelPath(const std::string& op) {
  const ModelFormat* format = FindModelFormat(op);
  return format != nullptr && format->holds != ModelFormat::kWeights;
}

// In the dtype that a graph carries. f64 values that are no f32 values would be rounded, and the output judged on
// others.
Result<Tensor> Carried(const std::string& who, const Tensor& tensor) {
  const auto dtype =
      onnx::CarriedDType(tensor.dtype() == DType::kF64 ? onnx::kTypeFloat : onnx::TypeOf(tensor.dtype()));
  if (!dtype.ok()) return dtype.status().AddContext(who);
  const bool floats = IsFloat(tensor.dtype());
  PLUMB_ASSIGN_OR_RETURN(Tensor carried, tensor.ConvertedTo(floats ? DType::kF32 : *dtype));
  if (tensor.dtype() != DType::kF64) return carried;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const double value = tensor.ValueAt(i);
    if (value == carried.ValueAt(i) || value != value) continue;
    return Status::InvalidArgument(fmt::format(
        "{} is f64, and its element {} ({:.17g}) is no f32 value; give what the kernel read, as f32", who, i, value));
  }
  return carried;
}

onnx::ValueInfoIr Declared(const std::string& name, const Tensor& tensor) {
  onnx::ValueInfoIr info;
  info.name = name;
  info.type = IsFloat(tensor.dtype()) ? onnx::kTypeFloat : onnx::TypeOf(tensor.dtype());
  info.has_shape = true;
  for (const int64_t dim : tensor.shape().dims()) info.dims.push_back(dim);
  info.dim_names.assign(info.dims.size(), "");
  return info;
}

// The one node's own words.
Status OfNode(const OperatorCall& call, const Status& status) {
  const std::string& message = status.message();
  const size_t node = message.find("\n  node '");
  const size_t at = node == std::string::npos ? node : message.find("): ", node);
  const std::string own = at == std::string::npos ? message : message.substr(at + 3);
  return {status.code(), fmt::format("{}: {}", call.op, own.substr(0, own.find('\n')))};
}

// Inputs stay inputs but for those whose values the importer must know.
Result<CallGraph> ImportCall(const OperatorCall& call, onnx::ModelIr model, bool weights_are_known) {
  CallGraph made;
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].empty()) continue;
    const std::string name = CallBlob('x', i);
    PLUMB_ASSIGN_OR_RETURN(values[name], Carried(fmt::format("input {} of {}", i, call.op), call.inputs[i]));
    model.graph.inputs.push_back(Declared(name, call.inputs[i]));
  }
  LoadOptions options;
  options.evaluator = ReferenceEvaluator();
  options.record = &made.record;
  for (size_t i = 1; weights_are_known && i < call.inputs.size(); ++i) {
    const auto value = values.find(CallBlob('x', i));
    if (value != values.end()) options.input_values.insert(*value);
  }
  for (int trial = 0; trial < kMostTrials; ++trial) {
    made.record = {};
    onnx::ImportResult imported = onnx::ImportModel(model, options);
    const size_t known = options.input_values.size();
    for (const auto& [name, suits] : imported.needed) options.input_values[name] = values.at(name);
    if (!imported.status.ok() && options.input_values.size() > known) continue;
    if (!imported.status.ok()) return OfNode(call, imported.status);
    if (!imported.unknown_attributes.empty()) {
      return Status::InvalidArgument(
          fmt::format("{} has no attribute '{}' that is known here", call.op, imported.unknown_attributes[0]));
    }
    made.graph = std::move(imported.graph);
    for (const GraphInput& input : made.graph.inputs) made.inputs[input.name] = values.at(input.name);
    return made;
  }
  return Status::Internal(fmt::format("{}: the inputs that must be known do not end", call.op));
}

onnx::ModelIr EmptyModel(const OperatorCall& call, size_t num_outputs) {
  onnx::ModelIr model;
  model.source = call.op;
  model.ir_version = 10;
  model.opsets = {{"", onnx::kNewestOpset}, {"com.microsoft", 1}};
  for (size_t i = 0; i < num_outputs; ++i) {
    onnx::ValueInfoIr output;
    output.name = CallBlob('y', i);
    model.graph.outputs.push_back(output);
  }
  return model;
}

std::string ParamText(const std::map<std::string, AttributeValue>& attributes) {
  std::string text;
  const auto list = [](const auto& values) {
    std::string all;
    for (const auto& value : values) all += fmt::format("{}{}", all.empty() ? "" : ",", value);
    return "[" + all + "]";
  };
  for (const auto& [name, value] : attributes) {
    text += text.empty() ? name : " " + name;
    if (const auto* i = std::get_if<int64_t>(&value)) text += fmt::format("={}", *i);
    if (const auto* f = std::get_if<double>(&value)) text += fmt::format("={}", *f);
    if (const auto* s = std::get_if<std::string>(&value)) text += "=" + *s;
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) text += "=" + list(*ints);
    if (const auto* floats = std::get_if<std::vector<double>>(&value)) text += "=" + list(*floats);
  }
  return text;
}

// A layer of TNN: inputs beyond those that it reads are its weights, in the order of the tnnmodel.
Result<CallGraph> TnnCall(const OperatorCall& call, const OpDef& op, size_t num_outputs) {
  CallGraph made;
  Layer layer;
  layer.kind = op.kind;
  layer.type = op.name;
  layer.name = call.op;
  layer.param = op.make_param();
  PLUMB_RETURN_IF_ERROR(SetParams(ParamText(call.attributes), &layer));
  const size_t read = op.max_inputs < 0 ? call.inputs.size() : static_cast<size_t>(op.max_inputs);
  for (size_t i = 0; i < static_cast<size_t>(op.min_inputs); ++i) {
    if (i >= call.inputs.size() || call.inputs[i].empty())
      return Status::InvalidArgument(fmt::format("{} needs its input {}", call.op, i));
  }
  std::vector<BlobInfo> blobs;
  for (size_t i = 0; i < std::min(read, call.inputs.size()); ++i) {
    const std::string name = CallBlob('x', i);
    PLUMB_ASSIGN_OR_RETURN(Tensor value, Carried(fmt::format("input {} of {}", i, call.op), call.inputs[i]));
    made.graph.inputs.push_back({name, value.dtype(), value.shape()});
    blobs.push_back({value.dtype(), value.shape(), {}});
    layer.inputs.push_back(name);
    made.inputs[name] = std::move(value);
  }
  std::vector<ResourceSpec> specs;
  if (op.resource_specs != nullptr) PLUMB_RETURN_IF_ERROR(op.resource_specs(layer, blobs, &specs));
  if (call.inputs.size() > read + specs.size()) {
    return Status::InvalidArgument(
        fmt::format("{} takes {} inputs and {} weights, found {}", call.op, read, specs.size(), call.inputs.size()));
  }
  for (size_t i = read; i < call.inputs.size(); ++i) {
    if (call.inputs[i].empty()) continue;
    PLUMB_ASSIGN_OR_RETURN(layer.resources[specs[i - read].slot],
                           Carried(fmt::format("weight '{}' of {}", specs[i - read].slot, call.op), call.inputs[i]));
  }
  for (size_t i = 0; i < num_outputs; ++i) layer.outputs.push_back(CallBlob('y', i));
  made.graph.outputs = layer.outputs;
  made.graph.source = call.op;
  made.graph.layers.push_back(std::move(layer));
  return made;
}

// At the shapes of the inputs, which are those of the network in its order.
Result<CallGraph> ModelCall(const OperatorCall& call, size_t num_outputs) {
  if (!call.attributes.empty()) {
    return Status::InvalidArgument(
        fmt::format("model '{}' takes no attributes, found '{}'", call.op, call.attributes.begin()->first));
  }
  CallGraph made;
  LoadOptions options;
  options.evaluator = ReferenceEvaluator();
  options.record = &made.record;
  options.open_dims = OpenDims::kSmallest;
  PLUMB_ASSIGN_OR_RETURN(const Graph first, LoadModel(call.op, options));
  if (first.inputs.size() != call.inputs.size() || first.outputs.size() < num_outputs) {
    return Status::InvalidArgument(fmt::format("model '{}' has {} inputs and {} outputs, found {} and {}", call.op,
                                               first.inputs.size(), first.outputs.size(), call.inputs.size(),
                                               num_outputs));
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string& name = first.inputs[i].name;
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, Carried(fmt::format("input '{}'", name), call.inputs[i]));
    PLUMB_ASSIGN_OR_RETURN(made.inputs[name], value.ConvertedTo(first.inputs[i].dtype));
    options.input_shapes[name] = value.shape();
  }
  made.record = {};
  PLUMB_ASSIGN_OR_RETURN(made.graph, LoadModel(call.op, options));
  return made;
}

}  // namespace

Result<std::pair<std::string, AttributeValue>> ParseAttribute(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return Status::InvalidArgument(fmt::format("an attribute: expected NAME=VALUE, found '{}'", text));
  const std::string name = text.substr(0, at), value = text.substr(at + 1);
  std::vector<int64_t> whole;
  std::vector<double> numbers;
  std::istringstream parts(value);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    const double number = std::strtod(part.c_str(), &end);
    constexpr double kMost = 1e15;  // whole numbers below it are doubles
    if (end == part.c_str() || *end != 0 || !(std::fabs(number) < kMost)) return std::pair(name, AttributeValue(value));
    numbers.push_back(number);
    if (part.find_first_of(".eE") == std::string::npos) whole.push_back(static_cast<int64_t>(number));
  }
  const bool is_list = value.find(',') != std::string::npos;
  if (whole.size() == numbers.size())
    return std::pair(name, is_list ? AttributeValue(whole) : AttributeValue(whole.at(0)));
  return std::pair(name, is_list ? AttributeValue(numbers) : AttributeValue(numbers.at(0)));
}

std::string CallBlob(char kind, size_t i) { return fmt::format("{}{}", kind, i); }

onnx::AttributeIr ToAttribute(const AttributeValue& value) {
  using onnx::AttributeIr;
  AttributeIr attribute;
  if (const auto* text = std::get_if<std::string>(&value)) {
    attribute.kind = AttributeIr::kString;
    attribute.s = *text;
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    attribute.kind = AttributeIr::kStrings;
    attribute.strings = *texts;
  } else if (const auto* i = std::get_if<int64_t>(&value)) {
    attribute.kind = AttributeIr::kInt;
    attribute.i = *i;
    attribute.ints = {*i};
    attribute.f = static_cast<float>(*i);
    attribute.floats = {attribute.f};
  } else if (const auto* f = std::get_if<double>(&value)) {
    attribute.kind = AttributeIr::kFloat;
    attribute.f = static_cast<float>(*f);
    attribute.floats = {attribute.f};
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    attribute.kind = AttributeIr::kInts;
    attribute.ints = *ints;
    attribute.floats.assign(ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    attribute.kind = AttributeIr::kFloats;
    attribute.floats.assign(floats->begin(), floats->end());
  }
  attribute.untyped = true;
  return attribute;
}

onnx::NodeIr NodeOf(const OperatorCall& call, const std::string& op_type, size_t num_outputs) {
  onnx::NodeIr node;
  const size_t dot = op_type.rfind('.');
  node.domain = dot == std::string::npos ? "" : op_type.substr(0, dot);
  node.op_type = dot == std::string::npos ? op_type : op_type.substr(dot + 1);
  node.name = call.op;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    node.inputs.push_back(call.inputs[i].empty() ? "" : CallBlob('x', i));
  }
  for (size_t i = 0; i < num_outputs; ++i) node.outputs.push_back(CallBlob('y', i));
  for (const auto& [name, value] : call.attributes) node.attributes[name] = ToAttribute(value);
  return node;
}

Result<CallGraph> MakeCallGraph(const OperatorCall& call, size_t num_outputs) {
  if (IsModelPath(call.op)) return ModelCall(call, num_outputs);
  if (call.inputs.empty()) return Status::InvalidArgument(fmt::format("{}: no input is given", call.op));
  onnx::ModelIr model = EmptyModel(call, num_outputs);
  PLUMB_ASSIGN_OR_RETURN(const bool named, AddNamedNodes(call, num_outputs, &model.graph));
  onnx::NodeIr node = NodeOf(call, call.op, num_outputs);
  const bool is_onnx = onnx::FindMapper(node.domain, node.op_type) != nullptr;
  if (is_onnx && !named) model.graph.nodes.push_back(std::move(node));
  if (is_onnx || named) return ImportCall(call, model, TakesWeights(model.graph.nodes.back().op_type));
  const auto type = tnn::FindLayerType(call.op);
  if (type && type->op != nullptr) return TnnCall(call, *type->op, num_outputs);
  std::vector<std::string> known;
  for (const auto& [name, stands_for] : CallNames()) known.push_back(name);
  for (const onnx::MapperRow& row : onnx::AllMappers()) known.emplace_back(row.op_type);
  return Status::NotSupported(
      fmt::format("there is no operator '{}' here{}; doc/judge.md has the names beside ONNX's and TNN's", call.op,
                  DidYouMean(call.op, known)));
}

}  // namespace plumb
