#include "format/onnx/import.h"

#include <algorithm>

#include "base/file.h"
#include "format/onnx/importer.h"
#include "format/onnx/parse.h"

namespace plumb::onnx {
namespace {

constexpr int kOldestOpset = 7;
constexpr size_t kMaxErrors = 50;

// "[N,3,224,224]"
std::string DimsText(const ValueInfoIr& input) {
  std::string text = "[";
  for (size_t i = 0; i < input.dims.size(); ++i) {
    const std::string open = input.dim_names[i].empty() ? "?" : input.dim_names[i];
    text += (i == 0 ? "" : ",") + (input.dims[i] < 0 ? open : std::to_string(input.dims[i]));
  }
  return text + "]";
}

std::string ShapeHint(const ValueInfoIr& input) {
  std::string text = "--shape " + input.name + "=";
  for (size_t i = 0; i < input.dims.size(); ++i) {
    text += (i == 0 ? "" : ",") + (input.dims[i] < 0 ? std::string("1") : std::to_string(input.dims[i]));
  }
  return text;
}

}  // namespace

const Value* Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto it = scope->values.find(name);
    if (it != scope->values.end()) return &it->second;
  }
  return nullptr;
}

ImportResult Importer::Run() {
  ImportResult result;
  Scope top;
  top.opsets = &model_.opsets;
  const auto run = [&]() -> Status {
    const auto opset = model_.opsets.find("");
    if (opset != model_.opsets.end() && opset->second < kOldestOpset) {
      notes_.push_back("the model has opset " + std::to_string(opset->second) + "; operators are read as in opset " +
                       std::to_string(kOldestOpset) + ", the oldest that Plumb knows: export it again");
    }
    PLUMB_RETURN_IF_ERROR(AddInputs(&top));
    PLUMB_RETURN_IF_ERROR(AddConstants(model_.graph, &top));
    PLUMB_RETURN_IF_ERROR(RunNodes(model_.graph.nodes, &top));
    if (errors_.empty()) PLUMB_RETURN_IF_ERROR(AddOutputs(top));
    return Status::Ok();
  };
  result.status = run();
  result.needed = needed_;
  if (result.status.ok() && !errors_.empty()) {
    std::string text = std::to_string(errors_.size()) + (errors_.size() == 1 ? " node cannot be imported:" : " nodes cannot be imported:");
    for (size_t i = 0; i < std::min(errors_.size(), kMaxErrors); ++i) text += "\n  " + errors_[i];
    if (errors_.size() > kMaxErrors) text += "\n  and " + std::to_string(errors_.size() - kMaxErrors) + " more";
    result.status = Status(worst_, text);
  }
  if (!result.status.ok()) {
    result.status = result.status.AddContext("model '" + model_.source + "'");
    return result;
  }
  result.graph = builder_.Finish();
  result.graph.source = model_.source;
  result.graph.weights_source = model_.source;
  notes_.push_back("imported " + std::to_string(nodes_) + " ONNX nodes as " + std::to_string(result.graph.layers.size()) +
                   " layers: " + std::to_string(folded_) + " folded away, " + std::to_string(decomposed_) + " decomposed");
  for (const auto& [change, count] : changes_) notes_.push_back(change + " (" + std::to_string(count) + ")");
  result.graph.notes = notes_;
  return result;
}

Status Importer::AddInputs(Scope* top) {
  std::string missing;
  for (const ValueInfoIr& input : model_.graph.inputs) {
    if (input.name.empty()) return Status::CorruptModel("a network input has no name");
    if (model_.graph.constants.count(input.name) > 0) continue;  // an initialiser's default
    if (top->values.count(input.name) > 0) return Status::CorruptModel("network input '" + input.name + "' is there twice");
    input_names_.insert(input.name);
    const std::string frame = "network input '" + input.name + "'";
    const auto given = options_.input_values.find(input.name);
    if (given != options_.input_values.end()) {
      const int type = input.kind == ValueInfoIr::kTensor && input.type != 0 ? input.type : TypeOf(given->second.dtype());
      const Result<DType> dtype = CarriedDType(type);
      if (!dtype.ok()) return dtype.status().AddContext(frame);
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, given->second.ConvertedTo(*dtype));
      top->values[input.name] = builder_.AddConstant(value, type, input.name);
      continue;
    }
    if (input.kind != ValueInfoIr::kTensor) {
      return Status::NotSupported(frame + " is no tensor (a sequence, an optional or a map), which Plumb has not");
    }
    const Result<DType> dtype = CarriedDType(input.type);
    if (!dtype.ok()) return dtype.status().AddContext(frame);
    Shape shape(input.dims);
    const auto it = options_.input_shapes.find(input.name);
    const bool open = !input.has_shape || std::count(input.dims.begin(), input.dims.end(), -1) > 0;
    const auto known = options_.open_shapes.find(input.name);
    if (it != options_.input_shapes.end()) shape = it->second;
    else if (open && known != options_.open_shapes.end() && (!input.has_shape || known->second.rank() == shape.rank())) shape = known->second;
    else if (open) missing += "\n  '" + input.name + "' is " + TypeName(input.type) + " " + (input.has_shape ? DimsText(input) : "of any rank") + ": " + ShapeHint(input);
    PLUMB_RETURN_IF_ERROR(missing.empty() ? shape.Validate().AddContext(frame) : Status::Ok());
    if (it != options_.input_shapes.end() && input.has_shape && it->second.rank() != static_cast<int>(input.dims.size())) {
      return Status::InvalidArgument(frame + " is " + DimsText(input) + ", but the shape given is " + it->second.ToString());
    }
    if (missing.empty()) PLUMB_RETURN_IF_ERROR(builder_.CheckSize(*dtype, shape).AddContext(frame));
    if (missing.empty()) top->values[input.name] = builder_.AddInput(input.name, *dtype, shape, input.type);
  }
  if (!missing.empty()) {
    return Status::InvalidArgument("network inputs have open dims; give each a shape, for example:" + missing);
  }
  for (const auto& [name, shape] : options_.input_shapes) {
    if (input_names_.count(name) > 0) continue;
    std::string known;
    for (const std::string& input : input_names_) known += (known.empty() ? "'" : ", '") + input + "'";
    return Status::InvalidArgument("a shape is given for '" + name + "', but the network inputs are " + (known.empty() ? "none" : known));
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
    const std::string frame = "network output '" + output.name + "'";
    if (value == nullptr) return Status::CorruptModel(frame + " is produced by no node");
    if (value->sequence != nullptr) return Status::NotSupported(frame + " is a sequence, which Plumb has not");
    if (!value->present()) return Status::NotSupported(frame + " cannot be read");
    if (!seen.insert(output.name).second) return Status::CorruptModel(frame + " is there twice");
    PLUMB_RETURN_IF_ERROR(builder_.AddOutput(output.name, *value));
  }
  return Status::Ok();
}

ImportResult ImportModel(const ModelIr& model, const LoadOptions& options) { return Importer(model, options).Run(); }

Result<Graph> LoadOnnx(const std::string& path, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(FileBytes bytes, ReadFile(path));
  PLUMB_ASSIGN_OR_RETURN(ModelIr model, ParseModel(bytes, path));
  bytes = FileBytes();
  ImportResult result = ImportModel(model, options);
  if (!result.status.ok()) return result.status;
  return std::move(result.graph);
}

}  // namespace plumb::onnx
