#include "format/onnx/import.h"

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/printable.h"
#include "format/onnx/importer.h"
#include "format/onnx/parse.h"

namespace plumb::onnx {
namespace {

constexpr int kOldestOpset = 7;
constexpr int kNewestOpset = 28;       // whose node tests onnx_newest_test runs
constexpr int kNoSuchOpset = 128;      // one or two come out in a year: a number of this size is no opset, but damage
constexpr size_t kMaxErrors = 50;

// "[N,3,224,224]"
std::string DimsText(const ValueInfoIr& input) {
  std::string text = "[";
  for (size_t i = 0; i < input.dims.size(); ++i) {
    const std::string open = input.dim_names[i].empty() ? "?" : Printable(input.dim_names[i]);
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

// Whether a shape is as declared, where -1 leaves a dim open.
bool Fits(const Shape& declared, const Shape& shape) {
  if (declared.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (declared[i] >= 0 && declared[i] != shape[i]) return false;
  }
  return true;
}

std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// "i64 [3]: 1, 2, 3"; of many values the first ones.
std::string ValuesText(const Tensor& value) {
  constexpr int64_t kShown = 8;
  std::string text = std::string(DTypeName(value.dtype())) + " " + value.shape().ToString() + ":";
  for (int64_t i = 0; i < std::min(value.NumElements(), kShown); ++i)
    text += (i == 0 ? " " : ", ") + NumberText(value.ValueAt(i));
  return text + (value.NumElements() > kShown ? ", ..." : "");
}

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
      PLUMB_RETURN_IF_ERROR(CheckOpset(function.opsets, "function '" + function.name + "'"));
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

// One that does not exist is refused; one that is not known, but may exist, is a note.
Status Importer::CheckOpset(const std::map<std::string, int>& opsets, const std::string& who) {
  const auto opset = opsets.find("");
  if (opset == opsets.end()) return Status::Ok();  // refused where a node needs it
  const int version = opset->second;
  const std::string has = who + " has opset " + std::to_string(version);
  if (version < 1 || version >= kNoSuchOpset) {
    return Status::CorruptModel(has + ", which does not exist; the newest that Plumb knows is " + std::to_string(kNewestOpset));
  }
  if (version < kOldestOpset) {
    notes_.push_back(has + "; operators are read as in opset " + std::to_string(kOldestOpset) +
                     ", the oldest that Plumb knows: export it again");
  }
  if (version > kNewestOpset) {
    notes_.push_back("warning AL13: " + has + "; operators are read as in opset " + std::to_string(kNewestOpset) +
                     ", the newest that Plumb knows: export it with that one");
  }
  return Status::Ok();
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
      const Result<Tensor> value = BoundValue(input, type, given->second);
      if (!value.ok()) return value.status().AddContext(frame);
      top->values[input.name] = builder_.AddConstant(*value, type, input.name);
      notes_.push_back(frame + " is a constant, " + ValuesText(*value));
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
  for (const auto& [name, shape] : options_.input_shapes) PLUMB_RETURN_IF_ERROR(CheckIsInput("a shape", name));
  for (const auto& [name, value] : options_.input_values) PLUMB_RETURN_IF_ERROR(CheckIsInput("a constant", name));
  return Status::Ok();
}

Status Importer::CheckIsInput(const std::string& what, const std::string& name) const {
  if (input_names_.count(name) > 0) return Status::Ok();
  std::string known;
  for (const std::string& input : input_names_) known += (known.empty() ? "'" : ", '") + input + "'";
  return Status::InvalidArgument(what + " is given for '" + name + "', but the network inputs are " +
                                 (known.empty() ? "none" : known));
}

// What LoadOptions::input_values says, in the dtype and shape that the network input has.
Result<Tensor> Importer::BoundValue(const ValueInfoIr& input, int type, const Tensor& given) const {
  PLUMB_ASSIGN_OR_RETURN(const DType dtype, CarriedDType(type));
  PLUMB_ASSIGN_OR_RETURN(const DType stored_dtype, StoredDType(type));  // what the model would be fed
  PLUMB_ASSIGN_OR_RETURN(const Tensor stored, given.ConvertedTo(stored_dtype));
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, stored.ConvertedTo(dtype));
  for (int64_t i = 0; i < given.NumElements() && !IsFloat(dtype); ++i) {
    if (stored.ValueAt(i) == given.ValueAt(i)) continue;
    return Status::InvalidArgument(std::string("a constant of ") + TypeName(type) + " is expected, found the value " +
                                   NumberText(given.ValueAt(i)));
  }
  const auto resized = options_.input_shapes.find(input.name);
  const bool declared = input.has_shape || resized != options_.input_shapes.end();
  const Shape wanted = resized != options_.input_shapes.end() ? resized->second : Shape(input.dims);
  const Shape& found = value.shape();
  if (!declared || Fits(wanted, found)) return value;
  const bool open = std::count(wanted.dims().begin(), wanted.dims().end(), -1) > 0;
  if (found.rank() < 2 && !open && wanted.NumElements() == found.NumElements())
    return value.Reshaped(wanted);  // a list of values
  return Status::InvalidArgument("a constant of shape " + DimsText(input) + " is expected, found " + found.ToString() +
                                 (found.rank() < 2 && open ? "; say its shape with " + ShapeHint(input) : ""));
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
