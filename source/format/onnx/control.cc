// SPDX-License-Identifier: Apache-2.0
// Nodes that contain graphs: local functions (inlined), Loop and Scan with a known number of steps
// (unrolled). Names inside get the node's name in front: "loop/3/add". branches.cc has If.
#include <fmt/core.h>

#include <algorithm>

#include "format/onnx/importer.h"
#include "op/concat.h"
#include "op/reshape.h"
#include "op/squeeze.h"
#include "op/strided_slice.h"

namespace plumb::onnx {
namespace {

constexpr int kControlMaxDepth = 64;

Status CheckDepth(const Scope& scope) {
  if (scope.depth <= kControlMaxDepth) return Status::Ok();
  return Status::NotSupported(
      fmt::format("graphs and functions lie more than {} deep in each other", kControlMaxDepth));
}

}  // namespace

const FunctionIr* Importer::FindFunction(const NodeIr& node) const {
  const auto found = functions_.find({node.domain, node.op_type});
  return found == functions_.end() ? nullptr : found->second;
}

Result<std::vector<Value>> Importer::RunGraph(const GraphIr& graph, const std::vector<Value>& inputs,
                                              const std::string& prefix, const Scope& outer) {
  Scope scope;
  scope.outer = &outer;
  scope.prefix = prefix;
  scope.opsets = outer.opsets;
  scope.function_attributes = outer.function_attributes;
  scope.depth = outer.depth + 1;
  PLUMB_RETURN_IF_ERROR(CheckDepth(scope));
  if (graph.inputs.size() != inputs.size()) {
    return Status::CorruptModel(
        fmt::format("graph '{}' takes {} inputs, found {}", graph.name, graph.inputs.size(), inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) scope.values[graph.inputs[i].name] = inputs[i];
  PLUMB_RETURN_IF_ERROR(AddConstants(graph, &scope));
  PLUMB_RETURN_IF_ERROR(RunNodes(graph.nodes, &scope));
  std::vector<Value> outputs;
  for (const ValueInfoIr& output : graph.outputs) {
    const Value* value = scope.Find(output.name);
    if (value == nullptr) {
      return Status::CorruptModel(
          fmt::format("output '{}' of graph '{}' is produced by no node", output.name, graph.name));
    }
    outputs.push_back(*value);
  }
  return outputs;
}

Result<int64_t> Importer::KnownInt(const Value& value, const char* what) {
  const Tensor& tensor = value.blob < 0 ? Tensor() : builder_.Info(value).value;
  if (tensor.empty()) {
    const std::vector<std::string> inputs = value.blob < 0 ? std::vector<std::string>() : builder_.Ancestors(value);
    for (const std::string& input : inputs) needed_[input];
    return Status::NotSupported(fmt::format("{} is known only when the network runs; it {}", what, DependsOn(inputs)));
  }
  if (tensor.NumElements() != 1)
    return Status::CorruptModel(fmt::format("{} must be one value, found {}", what, tensor.shape().ToString()));
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, tensor.ConvertedTo(DType::kI64));
  return wide.data<int64_t>()[0];
}

Result<Value> Importer::SliceOf(const Value& value, int64_t axis, int64_t at) {
  auto cut = std::make_shared<StridedSliceV2Param>();
  cut->begins = {static_cast<int>(at)};
  cut->ends = {static_cast<int>(at + 1)};
  cut->axes = {static_cast<int>(axis)};
  cut->strides = {1};
  PLUMB_ASSIGN_OR_RETURN(const auto slice, builder_.Add({OpKind::kStridedSliceV2, cut, {value}, {}, 1}));
  auto squeeze = std::make_shared<SqueezeParam>();
  squeeze->axes = {static_cast<int>(axis)};
  PLUMB_ASSIGN_OR_RETURN(auto result, builder_.Add({OpKind::kSqueeze, squeeze, slice, {}, 1}));
  result[0].type = value.type;
  return result[0];
}

Result<Value> Importer::Stack(const std::vector<Value>& slices, int64_t axis, bool reversed) {
  auto unsqueeze = std::make_shared<SqueezeParam>();
  unsqueeze->axes = {static_cast<int>(axis)};
  std::vector<Value> parts;
  for (const Value& slice : slices) {
    if (slice.blob < 0) return Value::Failed();
    PLUMB_ASSIGN_OR_RETURN(const auto part, builder_.Add({OpKind::kUnsqueeze, unsqueeze, {slice}, {}, 1}));
    parts.push_back(part[0]);
  }
  if (reversed) std::reverse(parts.begin(), parts.end());
  if (parts.empty()) return Status::NotSupported("it stacks the outputs of no steps");
  auto concat = std::make_shared<ConcatParam>();
  concat->axis = static_cast<int>(axis);
  PLUMB_ASSIGN_OR_RETURN(auto joined, builder_.Add({OpKind::kConcat, concat, parts, {}, 1}));
  joined[0].type = slices[0].type;
  return joined[0];
}

Status Importer::RunLoop(const NodeIr& node, Scope* scope) {
  std::vector<Value> inputs;
  PLUMB_ASSIGN_OR_RETURN(const bool complete, TakeInputs(node, *scope, &inputs));
  scope->FailOutputs(node);
  if (!complete) return Status::Ok();
  const auto body = node.attributes.find("body");
  PLUMB_RETURN_IF_ERROR(CheckArity({"oo*", "+"}, node, inputs).AddContext(Frame(node, *scope)));
  if (body == node.attributes.end() || body->second.graph == nullptr || inputs.size() < 2) {
    return Status::CorruptModel(Frame(node, *scope) + " needs a trip count, a condition and a body");
  }
  const GraphIr& graph = *body->second.graph;
  const size_t carried = inputs.size() - 2;
  if (graph.outputs.size() < carried + 1)
    return Status::CorruptModel(Frame(node, *scope) + ": the body has too few outputs");
  const auto run = [&]() -> Status {
    int64_t trips = INT64_MAX;
    int64_t go_on = 1;
    if (inputs[0].present()) {
      PLUMB_ASSIGN_OR_RETURN(trips, KnownInt(inputs[0], "the trip count"));
    }
    if (inputs[1].present()) {
      PLUMB_ASSIGN_OR_RETURN(go_on, KnownInt(inputs[1], "the condition"));
    }
    std::vector<Value> state(inputs.begin() + 2, inputs.end());
    std::vector<std::vector<Value>> stacked(graph.outputs.size() - 1 - carried);
    for (int64_t step = 0; step < trips && go_on != 0; ++step) {
      PLUMB_RETURN_IF_ERROR(Count(node, *scope));
      const std::string name = fmt::format("{}/{}", NodeName(node, *scope), step);
      PLUMB_RETURN_IF_ERROR(builder_.CheckCount());
      builder_.BeginNode(name);
      PLUMB_ASSIGN_OR_RETURN(const Tensor number, IntTensor({step}));
      PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, number.Reshaped(Shape{}));
      PLUMB_ASSIGN_OR_RETURN(const Tensor yes, scalar.ConvertedTo(DType::kBool));
      if (go_on != 0) const_cast<Tensor&>(yes).data<bool>()[0] = true;
      std::vector<Value> arguments = {builder_.AddConstant(scalar, kTypeInt64), builder_.AddConstant(yes, kTypeBool)};
      arguments.insert(arguments.end(), state.begin(), state.end());
      PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> outputs, RunGraph(graph, arguments, name + "/", *scope));
      if (!errors_.empty()) return Status::Ok();
      PLUMB_ASSIGN_OR_RETURN(go_on, KnownInt(outputs[0], "the condition that the body computes"));
      std::copy(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried), state.begin());
      for (size_t i = 0; i < stacked.size(); ++i) stacked[i].push_back(outputs[1 + carried + i]);
    }
    builder_.BeginNode(NodeName(node, *scope));
    for (size_t i = 0; i < node.outputs.size() && i < carried + stacked.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      Value value;
      if (i < carried) {
        value = state[i];
      } else {
        PLUMB_ASSIGN_OR_RETURN(value, Stack(stacked[i - carried], 0, false));
      }
      SetOutput(node, i, value, scope);
    }
    return Status::Ok();
  };
  const Status status = run();
  if (status.code() == StatusCode::kCorruptModel) return status.AddContext(Frame(node, *scope));
  if (!status.ok()) Fail(node, *scope, status);
  return Status::Ok();
}

Status Importer::RunScan(const NodeIr& node, Scope* scope) {
  std::vector<Value> inputs;
  PLUMB_ASSIGN_OR_RETURN(const bool complete, TakeInputs(node, *scope, &inputs));
  scope->FailOutputs(node);
  if (!complete) return Status::Ok();
  PLUMB_RETURN_IF_ERROR(CheckArity({"+", "+"}, node, inputs).AddContext(Frame(node, *scope)));
  const auto body = node.attributes.find("body");
  const auto count = node.attributes.find("num_scan_inputs");
  if (body == node.attributes.end() || body->second.graph == nullptr || count == node.attributes.end() ||
      count->second.i < 1 || count->second.i > static_cast<int64_t>(inputs.size())) {
    return Status::CorruptModel(Frame(node, *scope) + " needs a body and num_scan_inputs");
  }
  builder_.BeginNode(NodeName(node, *scope));
  NodeContext attributes(node, 9, inputs, &builder_);
  const auto scanned = static_cast<size_t>(count->second.i);
  const size_t carried = inputs.size() - scanned;
  const GraphIr& graph = *body->second.graph;
  if (graph.outputs.size() < carried)
    return Status::CorruptModel(Frame(node, *scope) + ": the body has too few outputs");
  const auto at = [&](const char* name, size_t i) {
    const std::vector<int64_t> list = attributes.IntList(name);
    return i < list.size() ? list[i] : 0;
  };
  const auto run = [&]() -> Status {
    const auto opset = scope->opsets->find("");
    if (opset != scope->opsets->end() && opset->second < 9)
      return Status::NotSupported("Scan with a batch dim (opset 8); export with opset 9 or newer");
    std::vector<Value> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried));
    std::vector<int64_t> axes(scanned);
    int64_t steps = -1;
    for (size_t i = 0; i < scanned; ++i) {
      const Shape& shape = builder_.Info(inputs[carried + i]).shape;
      PLUMB_ASSIGN_OR_RETURN(const int axis, AxisOf(at("scan_input_axes", i), shape.rank()));
      axes[i] = axis;
      if (steps >= 0 && shape[axis] != steps) return Status::CorruptModel("scanned inputs have different lengths");
      steps = shape[axis];
    }
    std::vector<std::vector<Value>> stacked(graph.outputs.size() - carried);
    for (size_t i = 0; i < stacked.size(); ++i) (void)at("scan_output_axes", i);
    PLUMB_RETURN_IF_ERROR(attributes.CheckAttributes());
    for (int64_t step = 0; step < steps; ++step) {
      PLUMB_RETURN_IF_ERROR(Count(node, *scope));
      const std::string name = fmt::format("{}/{}", NodeName(node, *scope), step);
      PLUMB_RETURN_IF_ERROR(builder_.CheckCount());
      builder_.BeginNode(name);
      std::vector<Value> arguments = state;
      for (size_t i = 0; i < scanned; ++i) {
        const int64_t position = at("scan_input_directions", i) != 0 ? steps - 1 - step : step;
        PLUMB_ASSIGN_OR_RETURN(const Value slice, SliceOf(inputs[carried + i], axes[i], position));
        arguments.push_back(slice);
      }
      PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> outputs, RunGraph(graph, arguments, name + "/", *scope));
      if (!errors_.empty()) return Status::Ok();
      std::copy(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(carried), state.begin());
      for (size_t i = 0; i < stacked.size(); ++i) stacked[i].push_back(outputs[carried + i]);
    }
    builder_.BeginNode(NodeName(node, *scope));
    for (size_t i = 0; i < node.outputs.size() && i < carried + stacked.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      Value value;
      if (i < carried) {
        value = state[i];
      } else {
        PLUMB_ASSIGN_OR_RETURN(value, Stack(stacked[i - carried], at("scan_output_axes", i - carried),
                                            at("scan_output_directions", i - carried) != 0));
      }
      SetOutput(node, i, value, scope);
    }
    return Status::Ok();
  };
  const Status status = run();
  if (status.code() == StatusCode::kCorruptModel) return status.AddContext(Frame(node, *scope));
  if (!status.ok()) Fail(node, *scope, status);
  return Status::Ok();
}

Status Importer::RunFunction(const NodeIr& node, const FunctionIr& function, Scope* scope) {
  std::vector<Value> inputs;
  PLUMB_ASSIGN_OR_RETURN(const bool complete, TakeInputs(node, *scope, &inputs));
  scope->FailOutputs(node);
  if (!complete) return Status::Ok();
  const std::string key = fmt::format("{}.{}", function.domain, function.name);
  if (std::count(calls_.begin(), calls_.end(), key) > 0) {
    return Status::CorruptModel(fmt::format("{}: function '{}' calls itself", Frame(node, *scope), function.name));
  }
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return Status::CorruptModel(fmt::format("{} gives {} inputs and takes {} outputs, function '{}' has {} and {}",
                                            Frame(node, *scope), inputs.size(), node.outputs.size(), function.name,
                                            function.inputs.size(), function.outputs.size()));
  }
  AttributeMap attributes = function.defaults;
  for (const auto& [name, value] : node.attributes) attributes[name] = value;
  Scope inside;  // a function sees nothing around it
  inside.prefix = NodeName(node, *scope) + "/";
  inside.opsets = function.opsets.empty() ? &model_.opsets : &function.opsets;
  inside.function_attributes = &attributes;
  inside.depth = scope->depth + 1;
  PLUMB_RETURN_IF_ERROR(CheckDepth(inside).AddContext(Frame(node, *scope)));
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    inside.values[function.inputs[i]] = i < inputs.size() ? inputs[i] : Value();
  }
  calls_.push_back(key);
  const Status status = RunNodes(function.nodes, &inside);
  calls_.pop_back();
  if (status.code() == StatusCode::kNotSupported) return status;  // a budget, which names its node itself
  PLUMB_RETURN_IF_ERROR(status.AddContext(Frame(node, *scope)));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Value* value = inside.Find(function.outputs[i]);
    if (value == nullptr) {
      return Status::CorruptModel(fmt::format("{}: output '{}' of the function is produced by no node",
                                              Frame(node, *scope), function.outputs[i]));
    }
    SetOutput(node, i, *value, scope);
  }
  return Status::Ok();
}

}  // namespace plumb::onnx
