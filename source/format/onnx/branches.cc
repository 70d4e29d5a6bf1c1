// SPDX-License-Identifier: Apache-2.0
// If: the branch that a known condition takes; both while the condition is unknown, and a Where for each output. The
// names of the branches stand apart ("if1/then/conv", "if1/else/conv"), so that a name means the same whichever of them
// is taken.
#include <fmt/core.h>

#include <algorithm>

#include "format/onnx/importer.h"

namespace plumb::onnx {
namespace {

constexpr char kThen[] = "/then/", kElse[] = "/else/";  // between an If's name and the names inside

const GraphIr* BranchOf(const NodeIr& node, const char* name) {
  const auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : it->second.graph.get();
}

// Why one output of two branches cannot be one blob; "" when it can: a single value is one of any rank.
std::string Difference(const Builder& builder, const Value& yes, const Value& no) {
  if (yes.blob < 0 || no.blob < 0) return "is no tensor in both";
  const BlobInfo &a = builder.Info(yes), &b = builder.Info(no);
  const bool single = a.shape.NumElements() == 1 && b.shape.NumElements() == 1;
  if (a.dtype == b.dtype && (a.shape == b.shape || single)) return "";
  const auto text = [](const BlobInfo& info) {
    return fmt::format("{} {}", DTypeName(info.dtype), info.shape.ToString());
  };
  return fmt::format("is {} in then_branch and {} in else_branch", text(a), text(b));
}

}  // namespace

Status Importer::RunIf(const NodeIr& node, Scope* scope) {
  std::vector<Value> inputs;
  PLUMB_ASSIGN_OR_RETURN(const bool complete, TakeInputs(node, *scope, &inputs));
  scope->FailOutputs(node);
  if (!complete) return Status::Ok();
  PLUMB_RETURN_IF_ERROR(CheckArity({"r", "+"}, node, inputs).AddContext(Frame(node, *scope)));
  if (BranchOf(node, "then_branch") == nullptr || BranchOf(node, "else_branch") == nullptr) {
    return Status::CorruptModel(Frame(node, *scope) + " needs a condition and two branches");
  }
  if (inputs[0].blob >= 0 && builder_.Info(inputs[0]).value.empty() &&
      builder_.Info(inputs[0]).shape.NumElements() == 1) {
    const Status status = RunBoth(node, inputs[0], scope);
    if (status.code() == StatusCode::kCorruptModel) return status.AddContext(Frame(node, *scope));
    if (!status.ok()) Fail(node, *scope, status);
    return Status::Ok();
  }
  const Result<int64_t> condition = KnownInt(inputs[0], "the condition");
  if (!condition.ok()) {
    Fail(node, *scope, condition.status());
    return Status::Ok();
  }
  const bool yes = *condition != 0;
  const GraphIr& graph = *BranchOf(node, yes ? "then_branch" : "else_branch");
  Result<std::vector<Value>> outputs = RunGraph(graph, {}, NodeName(node, *scope) + (yes ? kThen : kElse), *scope);
  if (!outputs.ok()) return outputs.status().AddContext(Frame(node, *scope));
  for (size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) SetOutput(node, i, (*outputs)[i], scope);
  return Status::Ok();
}

Status Importer::RunBoth(const NodeIr& node, const Value& condition, Scope* scope) {
  const std::string name = NodeName(node, *scope);
  const std::vector<std::string> inputs = builder_.Ancestors(condition);
  const std::string why =
      fmt::format("the condition is known only when the network runs (it {}), so both branches are imported, but ",
                  DependsOn(inputs));
  const auto refuse = [&](const std::string& problem) {
    for (const std::string& input : inputs) needed_[input];
    return Status::NotSupported(why + problem);
  };
  const size_t before = builder_.NumLayers(), errors = errors_.size();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> yes,
                         RunGraph(*BranchOf(node, "then_branch"), {}, name + kThen, *scope));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> no,
                         RunGraph(*BranchOf(node, "else_branch"), {}, name + kElse, *scope));
  if (errors_.size() > errors) return refuse("not all of their nodes can be");
  const size_t layers = builder_.NumLayers() - before;
  for (size_t i = before; i < before + layers; ++i) {
    if (!builder_.MayFail(i)) continue;
    return refuse(fmt::format("node '{}' ({}) fails on indices that do not fit, also in the branch that is not taken",
                              builder_.NodeAt(i), builder_.TypeAt(i)));
  }
  builder_.BeginNode(name);
  NodeContext steps(node, 9, {condition}, &builder_);
  PLUMB_ASSIGN_OR_RETURN(const Value scalar, steps.Reshape(condition, {}));
  for (size_t i = 0; i < node.outputs.size() && i < std::min(yes.size(), no.size()); ++i) {
    if (node.outputs[i].empty()) continue;
    if (yes[i].failed() || no[i].failed()) continue;  // said already
    const std::string problem = Difference(builder_, yes[i], no[i]);
    if (!problem.empty()) return refuse(fmt::format("output '{}' {}", node.outputs[i], problem));
    Value other = no[i];
    if (builder_.Info(other).shape != builder_.Info(yes[i]).shape) {
      PLUMB_ASSIGN_OR_RETURN(other, steps.Reshape(other, builder_.Info(yes[i]).shape.dims()));
    }
    PLUMB_ASSIGN_OR_RETURN(const Value taken,
                           yes[i].blob == other.blob ? Result<Value>(yes[i]) : steps.Select(scalar, yes[i], other));
    SetOutput(node, i, taken, scope);
  }
  notes_.push_back(
      fmt::format("If '{}': its condition is known only when the network runs, so both branches are computed ({} "
                  "layers) and Where takes the outputs of one",
                  name, layers));
  return Status::Ok();
}

}  // namespace plumb::onnx
