// SPDX-License-Identifier: Apache-2.0
// Operators that run other subgraphs, and variables. A variable is the value that was written last: one run of the
// network is the first one, after CALL_ONCE has filled them.
#include <fmt/core.h>

#include <memory>

#include "format/tflite/op_context.h"
#include "format/tflite/translator.h"

namespace plumb::tflite {
namespace {

onnx::AttributeIr GraphAttribute(onnx::GraphIr graph) {
  onnx::AttributeIr attribute;
  attribute.kind = onnx::AttributeIr::kGraph;
  attribute.graph = std::make_shared<const onnx::GraphIr>(std::move(graph));
  return attribute;
}

// The names of the operator's inputs from `first` on.
Result<std::vector<std::string>> InputNames(OpContext& c, size_t first) {
  std::vector<std::string> names;
  for (size_t i = first; i < c.NumInputs(); ++i) {
    if (!c.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
    PLUMB_ASSIGN_OR_RETURN(const std::string name, c.Raw(i, Order::kFile));
    names.push_back(name);
  }
  return names;
}

Result<onnx::GraphIr> InnerGraph(OpContext& c, int64_t index, const char* word,
                                 const std::vector<std::string>& inputs) {
  PLUMB_RETURN_IF_ERROR(c.translator().CheckGraphIndex(index));
  const std::string prefix = fmt::format("{}/{}/", c.writer().operator_name(), word);
  return c.translator().Inner(static_cast<size_t>(index), prefix, inputs);
}

void Append(onnx::GraphIr from, onnx::GraphIr* to) {
  to->nodes.insert(to->nodes.end(), from.nodes.begin(), from.nodes.end());
  to->constants.insert(from.constants.begin(), from.constants.end());
}

Status SetAll(OpContext& c, const std::vector<std::string>& values) {
  for (size_t i = 0; i < values.size(); ++i) PLUMB_RETURN_IF_ERROR(c.SetRaw(i, values[i], Order::kFile));
  return Status::Ok();
}

}  // namespace

Status MapIf(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::IfOptions>());
  PLUMB_ASSIGN_OR_RETURN(const std::string condition, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, InputNames(c, 1));
  const Translator::Branch branch(&c.translator());
  PLUMB_ASSIGN_OR_RETURN(onnx::GraphIr then, InnerGraph(c, options->then_subgraph_index(), "then", inputs));
  PLUMB_ASSIGN_OR_RETURN(onnx::GraphIr otherwise, InnerGraph(c, options->else_subgraph_index(), "else", inputs));
  if (then.outputs.size() != c.NumOutputs() || otherwise.outputs.size() != c.NumOutputs()) {
    return Status::CorruptModel(fmt::format("its branches have {} and {} outputs, expected {}", then.outputs.size(),
                                            otherwise.outputs.size(), c.NumOutputs()));
  }
  return SetAll(c, c.writer().EmitMany("If", {condition}, c.NumOutputs(),
                                       {{"then_branch", GraphAttribute(std::move(then))},
                                        {"else_branch", GraphAttribute(std::move(otherwise))}}));
}

// ONNX's Loop asks for the condition first, and again behind each step.
Status MapWhile(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::WhileOptions>());
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, InputNames(c, 0));
  const Translator::Branch branch(&c.translator());
  PLUMB_ASSIGN_OR_RETURN(onnx::GraphIr first, InnerGraph(c, options->cond_subgraph_index(), "before", inputs));
  std::vector<std::string> state;
  onnx::GraphIr loop;
  loop.name = c.writer().operator_name();
  for (const char* word : {"step", "go_on"}) loop.inputs.emplace_back().name = fmt::format("{}/{}", loop.name, word);
  for (size_t i = 0; i < inputs.size(); ++i) {
    state.push_back(fmt::format("{}/state{}", loop.name, i));
    loop.inputs.emplace_back().name = state.back();
  }
  PLUMB_ASSIGN_OR_RETURN(onnx::GraphIr body, InnerGraph(c, options->body_subgraph_index(), "body", state));
  std::vector<std::string> next;
  for (const onnx::ValueInfoIr& output : body.outputs) next.push_back(output.name);
  PLUMB_ASSIGN_OR_RETURN(onnx::GraphIr again, InnerGraph(c, options->cond_subgraph_index(), "behind", next));
  if (first.outputs.size() != 1 || again.outputs.size() != 1 || next.size() != inputs.size() ||
      c.NumOutputs() != inputs.size()) {
    return Status::CorruptModel(fmt::format("its condition has {} outputs, its body {} and it {}, of {} inputs",
                                            first.outputs.size(), next.size(), c.NumOutputs(), inputs.size()));
  }
  loop.outputs = again.outputs;
  loop.outputs.insert(loop.outputs.end(), body.outputs.begin(), body.outputs.end());
  Append(std::move(body), &loop);
  Append(std::move(again), &loop);
  std::vector<std::string> arguments = {"", first.outputs[0].name};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  c.writer().Append(std::move(first));
  return SetAll(c, c.writer().EmitMany("Loop", arguments, c.NumOutputs(), {{"body", GraphAttribute(std::move(loop))}}));
}

Status MapCallOnce(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::CallOnceOptions>());
  PLUMB_ASSIGN_OR_RETURN(onnx::GraphIr graph, InnerGraph(c, options->init_subgraph_index(), "once", {}));
  c.writer().Append(std::move(graph));
  return Status::Ok();
}

Status MapVarHandle(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::VarHandleOptions>());
  const std::string name = fmt::format("{}/{}", Text(options->container()), Text(options->shared_name()));
  c.translator().handles()[{&c.writer(), c.OutputIndex(0)}] = name;
  return Status::Ok();
}

Status MapReadVariable(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string name, c.translator().VariableOf(c));
  const auto found = c.translator().variables().find(name);
  if (found == c.translator().variables().end())
    return Status::NotSupported(fmt::format("it reads variable '{}' before anything is written to it", name));
  return c.SetRaw(0, c.Emit("Identity", {found->second}), Order::kFile);
}

Status MapAssignVariable(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string name, c.translator().VariableOf(c));
  if (c.translator().in_branch())
    return Status::NotSupported(fmt::format("it writes variable '{}' inside an IF or WHILE", name));
  PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Raw(1, Order::kFile));
  c.translator().variables()[name] = value;
  return Status::Ok();
}

}  // namespace plumb::tflite
