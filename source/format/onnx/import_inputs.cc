// SPDX-License-Identifier: Apache-2.0
// The network's inputs: shapes made fixed, values that become constants.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "format/onnx/importer.h"
#include "format/onnx/parse.h"

namespace plumb::onnx {
namespace {

std::string DimsText(const ValueInfoIr& input) {
  return DeclaredInput{input.name, DType::kF32, input.has_shape, input.dims, input.dim_names}.DimsText();
}

std::string ShapeHint(const ValueInfoIr& input) {
  std::string text = fmt::format("LoadOptions::input_shapes {}=", input.name);
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
  std::string text = fmt::format("{} {}:", DTypeName(value.dtype()), value.shape().ToString());
  for (int64_t i = 0; i < std::min(value.NumElements(), kShown); ++i)
    text += (i == 0 ? " " : ", ") + NumberText(value.ValueAt(i));
  return text + (value.NumElements() > kShown ? ", ..." : "");
}

// All inputs that are tensors and no constants; a dtype that Plumb has not is refused later.
std::vector<DeclaredInput> Declared(const GraphIr& graph, const std::map<std::string, Tensor>& constants) {
  std::vector<DeclaredInput> inputs;
  for (const ValueInfoIr& input : graph.inputs) {
    if (graph.constants.count(input.name) > 0 || constants.count(input.name) > 0) continue;
    if (input.kind != ValueInfoIr::kTensor) continue;
    const Result<DType> dtype = CarriedDType(input.type);
    inputs.push_back({input.name, dtype.ok() ? *dtype : DType::kF32, input.has_shape, input.dims, input.dim_names});
  }
  return inputs;
}

}  // namespace

Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenSource(path));
  PLUMB_ASSIGN_OR_RETURN(const ModelIr model, ParseModel(source, path, /*skip_weights=*/true));
  return Declared(model.graph, {});
}

std::vector<DeclaredInput> Importer::FilledInputs() {
  std::vector<DeclaredInput> inputs = Declared(model_.graph, options_.input_values);
  const InputShapeMap given = GivenShapes(inputs, options_);
  std::string note;
  inputs = FillOpenDims(std::move(inputs), given, &note);
  if (!note.empty()) notes_.push_back(note);
  inputs_ = inputs;
  if (std::any_of(inputs.begin(), inputs.end(), [](const DeclaredInput& input) { return input.open(); }))
    open_ = inputs;
  return inputs;
}

Status Importer::AddInputs(Scope* top) {
  const std::vector<DeclaredInput> filled = FilledInputs();
  size_t next = 0;
  for (const ValueInfoIr& input : model_.graph.inputs) {
    if (input.name.empty()) return Status::CorruptModel("a network input has no name");
    if (model_.graph.constants.count(input.name) > 0) continue;  // an initialiser's default
    if (!input_names_.insert(input.name).second)
      return Status::CorruptModel(fmt::format("network input '{}' is there twice", input.name));
    const std::string frame = fmt::format("network input '{}'", input.name);
    const auto given = options_.input_values.find(input.name);
    if (given != options_.input_values.end()) {
      const int type =
          input.kind == ValueInfoIr::kTensor && input.type != 0 ? input.type : TypeOf(given->second.dtype());
      const Result<Tensor> value = BoundValue(input, type, given->second);
      if (!value.ok()) return value.status().AddContext(frame);
      top->values[input.name] = builder_.AddConstant(*value, type, input.name);
      notes_.push_back(fmt::format("{} is a constant, {}", frame, ValuesText(*value)));
      continue;
    }
    if (input.kind != ValueInfoIr::kTensor) {
      return Status::NotSupported(frame + " is no tensor (a sequence, an optional or a map), which Plumb has not");
    }
    PLUMB_RETURN_IF_ERROR(AddInput(input, filled[next++], top).AddContext(frame));
  }
  if (!open_.empty()) return OpenDimsError(open_, {});
  for (const auto& [name, shape] : options_.input_shapes) PLUMB_RETURN_IF_ERROR(CheckIsInput("a shape", name));
  for (const auto& [name, value] : options_.input_values) PLUMB_RETURN_IF_ERROR(CheckIsInput("a constant", name));
  return Status::Ok();
}

Status Importer::AddInput(const ValueInfoIr& input, const DeclaredInput& filled, Scope* top) {
  PLUMB_ASSIGN_OR_RETURN(const DType dtype, CarriedDType(input.type));
  const auto given = options_.input_shapes.find(input.name);
  if (given != options_.input_shapes.end() && input.has_shape &&
      given->second.rank() != static_cast<int>(input.dims.size())) {
    return Status::InvalidArgument(
        fmt::format("it is {}, but the shape given is {}", DimsText(input), given->second.ToString()));
  }
  if (filled.open()) return Status::Ok();
  const Shape shape(filled.dims);
  PLUMB_RETURN_IF_ERROR(shape.Validate());
  PLUMB_RETURN_IF_ERROR(builder_.CheckSize(dtype, shape));
  top->values[input.name] = builder_.AddInput(input.name, dtype, shape, input.type);
  return Status::Ok();
}

Status Importer::CheckIsInput(const std::string& what, const std::string& name) const {
  if (input_names_.count(name) > 0) return Status::Ok();
  std::string known;
  for (const std::string& input : input_names_) known += fmt::format("{}{}'", known.empty() ? "'" : ", '", input);
  return Status::InvalidArgument(
      fmt::format("{} is given for '{}', but the network inputs are {}", what, name, known.empty() ? "none" : known));
}

// What LoadOptions::input_values says, in the dtype and shape that the network input has.
Result<Tensor> Importer::BoundValue(const ValueInfoIr& input, int type, const Tensor& given) const {
  PLUMB_ASSIGN_OR_RETURN(const DType dtype, CarriedDType(type));
  PLUMB_ASSIGN_OR_RETURN(const DType stored_dtype, StoredDType(type));  // what the model would be fed
  PLUMB_ASSIGN_OR_RETURN(const Tensor stored, given.ConvertedTo(stored_dtype));
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, stored.ConvertedTo(dtype));
  for (int64_t i = 0; i < given.NumElements() && !IsFloat(dtype); ++i) {
    if (stored.ValueAt(i) == given.ValueAt(i)) continue;
    return Status::InvalidArgument(
        fmt::format("a constant of {} is expected, found the value {}", TypeName(type), NumberText(given.ValueAt(i))));
  }
  const auto resized = options_.input_shapes.find(input.name);
  const bool declared = input.has_shape || resized != options_.input_shapes.end();
  const Shape wanted = resized != options_.input_shapes.end() ? resized->second : Shape(input.dims);
  const Shape& found = value.shape();
  if (!declared || Fits(wanted, found)) return value;
  const bool open = std::count(wanted.dims().begin(), wanted.dims().end(), -1) > 0;
  if (found.rank() < 2 && !open && wanted.NumElements() == found.NumElements())
    return value.Reshaped(wanted);  // a list of values
  return Status::InvalidArgument(
      fmt::format("a constant of shape {} is expected, found {}{}", DimsText(input), found.ToString(),
                  found.rank() < 2 && open ? "; say its shape with " + ShapeHint(input) : ""));
}

}  // namespace plumb::onnx
