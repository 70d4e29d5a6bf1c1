// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/import.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "format/onnx/importer.h"
#include "format/onnx/parse.h"
#include "plumb/tool/printing.h"

namespace plumb::onnx {
namespace {

constexpr int kOldestOpset = 7;
constexpr int kNoSuchOpset = 128;  // one or two come out in a year: a number of this size is no opset, but damage
constexpr size_t kMaxErrors = 50;

}  // namespace

const Value* Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto it = scope->values.find(name);
    if (it != scope->values.end()) return &it->second;
  }
  return nullptr;
}

void Scope::FailOutputs(const NodeIr& node) {
  for (const std::string& name : node.outputs) {
    if (!name.empty()) values[name] = Value::Failed();
  }
}

ImportResult Importer::Run() {
  ImportResult result;
  Scope top;
  top.opsets = &model_.opsets;
  const auto run = [&]() -> Status {
    PLUMB_RETURN_IF_ERROR(CheckOpset(model_.opsets, "the model"));
    for (const FunctionIr& function : model_.functions) {
      functions_.emplace(std::make_pair(function.domain, function.name), &function);
      PLUMB_RETURN_IF_ERROR(CheckOpset(function.opsets, fmt::format("function '{}'", function.name)));
    }
    PLUMB_RETURN_IF_ERROR(AddInputs(&top));
    PLUMB_RETURN_IF_ERROR(AddConstants(model_.graph, &top));
    PLUMB_RETURN_IF_ERROR(RunNodes(model_.graph.nodes, &top));
    if (errors_.empty()) PLUMB_RETURN_IF_ERROR(AddOutputs(top));
    for (const std::string& name : model_.graph.kept) {
      const auto kept = top.values.find(name);
      if (kept != top.values.end()) builder_.Keep(kept->second);
    }
    return Status::Ok();
  };
  result.status = run();
  result.needed = needed_;
  result.unknown_attributes = unknown_attributes_;
  result.open = open_;
  result.inputs = inputs_;
  if (result.status.ok() && !errors_.empty()) {
    std::string text = std::to_string(errors_.size()) +
                       (errors_.size() == 1 ? " node cannot be imported:" : " nodes cannot be imported:");
    for (size_t i = 0; i < std::min(errors_.size(), kMaxErrors); ++i) text += "\n  " + errors_[i];
    if (errors_.size() > kMaxErrors) text += fmt::format("\n  and {} more", errors_.size() - kMaxErrors);
    result.status = Status(worst_, text);
  }
  if (!result.status.ok()) {
    result.status = result.status.AddContext(fmt::format("model '{}'", model_.source));
    return result;
  }
  if (builder_.ended_folding()) {
    notes_.emplace_back("some constants are computed when it runs: computing them on import takes too long");
  }
  result.graph = builder_.Finish();
  if (options_.file_nodes != nullptr) FillFileNodes(options_.file_nodes);
  result.graph.source = model_.source;
  result.graph.weights_source = model_.source;
  // Of another format: its own operators, and the nodes that they were written as.
  const std::string read = model_.format == "ONNX" ? fmt::format("{} ONNX nodes", nodes_)
                                                   : fmt::format("{} {} operators ({} nodes)", model_.file_nodes.size(),
                                                                 model_.format, nodes_);
  notes_.push_back(fmt::format("imported {} as {} layers: {} folded away, {} decomposed", read,
                               result.graph.layers.size(), folded_, decomposed_));
  for (const auto& [change, count] : changes_) notes_.push_back(fmt::format("{} ({})", change, count));
  result.graph.notes = notes_;
  return result;
}

// One that does not exist is refused; one that is not known, but may exist, is a note.
Status Importer::CheckOpset(const std::map<std::string, int>& opsets, const std::string& who) {
  const auto opset = opsets.find("");
  if (opset == opsets.end()) return Status::Ok();  // refused where a node needs it
  const int version = opset->second;
  const std::string has = fmt::format("{} has opset {}", who, version);
  if (version < 1 || version >= kNoSuchOpset) {
    return Status::CorruptModel(
        fmt::format("{}, which does not exist; the newest that Plumb knows is {}", has, kNewestOpset));
  }
  if (version < kOldestOpset) {
    notes_.push_back(fmt::format("{}; operators are read as in opset {}, the oldest that Plumb knows: export it again",
                                 has, kOldestOpset));
  }
  if (version > kNewestOpset) {
    notes_.push_back(fmt::format(
        "warning AL13: {}; operators are read as in opset {}, the newest that Plumb knows: export it with that one",
        has, kNewestOpset));
  }
  return Status::Ok();
}

Status Importer::AddConstants(const GraphIr& graph, Scope* scope) {
  for (const auto& [name, constant] : graph.constants) {
    if (name.empty()) return Status::CorruptModel("an initialiser has no name");
    if (constant.value.empty()) {
      scope->values[name] = Value::Failed();  // an error only when somebody reads it
      continue;
    }
    scope->values[name] = builder_.AddConstant(constant.value, constant.type, scope->prefix + name);
  }
  return Status::Ok();
}

Status Importer::AddOutputs(const Scope& top) {
  if (model_.graph.outputs.empty()) return Status::CorruptModel("the graph has no outputs");
  std::set<std::string> seen;
  for (const ValueInfoIr& output : model_.graph.outputs) {
    const Value* value = top.Find(output.name);
    const std::string frame = fmt::format("network output '{}'", output.name);
    if (value == nullptr) return Status::CorruptModel(frame + " is produced by no node");
    if (value->sequence != nullptr) return Status::NotSupported(frame + " is a sequence, which Plumb has not");
    if (!value->present()) return Status::NotSupported(frame + " cannot be read");
    if (!seen.insert(output.name).second) return Status::CorruptModel(frame + " is there twice");
    Value typed = *value;
    const Result<DType> declared = CarriedDType(output.type);
    if (declared.ok() && *declared == builder_.Info(typed).dtype) typed.type = output.type;
    PLUMB_RETURN_IF_ERROR(builder_.AddOutput(output.name, typed));
  }
  return Status::Ok();
}

ImportResult ImportModel(const ModelIr& model, const LoadOptions& options) {
  Result<ImportBudget> budget = ImportBudget::Of(model);
  if (budget.ok()) return ImportModel(model, options, &*budget);
  ImportResult failed;
  failed.status = budget.status();
  return failed;
}

ImportResult ImportModel(const ModelIr& model, const LoadOptions& options, ImportBudget* budget) {
  return Importer(model, options, budget).Run();
}

namespace {

// One blob of the sizes that are tried: a network that needs more there is no example to give.
constexpr uint64_t kMaxTrialBytes = uint64_t{1} << 30;
constexpr int kTrialsBudget = 4;  // what all attempts together may take, as a multiple of one import

LoadOptions At(const LoadOptions& options, const InputShapeMap& shapes, const InputValues& values) {
  LoadOptions at = options;
  for (const auto& [name, shape] : shapes) at.input_shapes[name] = shape;
  for (const auto& [name, value] : values) at.input_values[name] = value;
  return at;
}

// Nothing that runs has blobs without elements: a window larger than its input leaves some.
Status CheckRuns(const Graph& graph) {
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  for (const Layer& layer : graph.layers) {
    for (const std::string& name : layer.outputs) {
      const Shape& shape = blobs.at(name).shape;
      if (shape.NumElements() == 0)
        return Status::InvalidArgument(
            fmt::format("layer '{}': blob '{}' is empty: {}", layer.name, name, shape.ToString()));
    }
  }
  return Status::Ok();
}

// At shapes and values that are found by trying. `refused`: why it was refused where nothing is open.
Result<Graph> ImportOpen(const ModelIr& model, const LoadOptions& options, const std::vector<DeclaredInput>& inputs,
                         const Status& refused) {
  PLUMB_RETURN_IF_ERROR(
      CheckGivenShapes(inputs, options.input_shapes).AddContext(fmt::format("model '{}'", model.source)));
  PLUMB_ASSIGN_OR_RETURN(ImportBudget budget, ImportBudget::Of(model));  // of all attempts together
  budget.max_nodes *= kTrialsBudget;
  budget.max_folding *= kTrialsBudget;
  const auto attempt = [&](const InputShapeMap& shapes, const InputValues& values) -> ShapeTrial {
    LoadOptions at = At(options, shapes, values);
    at.max_bytes = std::min(at.max_bytes, kMaxTrialBytes);
    const ImportResult tried = ImportModel(model, at, &budget);
    return {tried.status.ok() ? CheckRuns(tried.graph) : tried.status, tried.needed};
  };
  const FoundShapes found = FindShapes(inputs, attempt);
  if (options.open_dims == OpenDims::kRefuse || !found.runs()) {
    if (refused.ok()) return OpenDimsError(inputs, found).AddContext(fmt::format("model '{}'", model.source));
    return refused;
  }
  const InputShapeMap& shapes = options.open_dims == OpenDims::kSmallest ? found.smallest : found.usual;
  ImportResult result = ImportModel(model, At(options, shapes, found.values));
  if (!result.status.ok()) return result.status;
  result.graph.notes.push_back(kChosenShapesNote + found.Options(shapes));
  result.graph.chosen_values = found.values;
  return std::move(result.graph);
}

}  // namespace

Result<Graph> LoadOnnx(const std::string& path, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenSource(path));
  PLUMB_ASSIGN_OR_RETURN(const ModelIr model, ParseModel(source, path, options.skip_weights));
  return ImportAtAnyShape(model, options);
}

Result<Graph> ImportAtAnyShape(const ModelIr& model, const LoadOptions& options) {
  ImportResult result = ImportModel(model, options);
  if (!result.open.empty()) return ImportOpen(model, options, result.open, Status::Ok());
  if (!result.status.ok() && !result.needed.empty() && options.open_dims != OpenDims::kRefuse)
    return ImportOpen(model, options, result.inputs, result.status);
  if (!result.status.ok()) return result.status;
  return std::move(result.graph);
}

}  // namespace plumb::onnx
