// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/translator.h"

#include <fmt/core.h>

#include <algorithm>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

constexpr int kInnerMaxDepth = 16;
constexpr int kWrittenOpset = 21;  // whose nodes are written here

std::string OutputName(const schema::Operator& op, const GraphWriter& writer, size_t index) {
  for (size_t i = 0; op.outputs() != nullptr && i < op.outputs()->size(); ++i) {
    const int tensor = op.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (tensor >= 0) return writer.NameOf(tensor);
  }
  return fmt::format("{}operator{}", writer.prefix(), index);
}

// A network input with the shape that the file gives it.
onnx::ValueInfoIr DeclaredAs(const GraphWriter& writer, int tensor) {
  onnx::ValueInfoIr info;
  info.name = writer.NameOf(tensor);
  info.type = writer.TypeOf(tensor);
  info.has_shape = true;
  info.dims = ShapeOf(writer.TensorAt(tensor)).dims();
  info.dim_names.resize(info.dims.size());
  return info;
}

std::vector<std::string> TensorNames(const flatbuffers::Vector<int32_t>* tensors, const GraphWriter& writer) {
  std::vector<std::string> names;
  for (size_t i = 0; tensors != nullptr && i < tensors->size(); ++i) {
    const int tensor = tensors->Get(static_cast<flatbuffers::uoffset_t>(i));
    names.push_back(tensor < 0 ? "" : writer.NameOf(tensor));
  }
  return names;
}

std::vector<FileNodes::Node> OperatorsOf(const ModelFile& file, const GraphWriter& writer) {
  std::vector<FileNodes::Node> nodes;
  const auto* operators = writer.graph().operators();
  for (size_t i = 0; operators != nullptr && i < operators->size(); ++i) {
    const schema::Operator& op = *operators->Get(static_cast<flatbuffers::uoffset_t>(i));
    FileNodes::Node& node = nodes.emplace_back();
    node.name = OutputName(op, writer, i);
    node.type = OperatorName(*file.root().operator_codes()->Get(op.opcode_index()));
    node.inputs = TensorNames(op.inputs(), writer);
    node.outputs = TensorNames(op.outputs(), writer);
  }
  return nodes;
}

// Another writer may stand at the same address later.
template <class Map>
void ForgetTensorsOf(const GraphWriter* writer, Map* map) {
  for (auto it = map->begin(); it != map->end();) it = it->first.first == writer ? map->erase(it) : ++it;
}

}  // namespace

Status Translator::CheckGraphIndex(int64_t index) const {
  if (index >= 0 && index < static_cast<int64_t>(file_.num_graphs())) return Status::Ok();
  return Status::CorruptModel(fmt::format("it names subgraph {} of {}", index, file_.num_graphs()));
}

Status Translator::Operator(const schema::Operator& op, size_t index, GraphWriter* writer) {
  const schema::OperatorCode& code = *file_.root().operator_codes()->Get(op.opcode_index());
  if (--budget_.operators < 0)
    return Status::NotSupported("the file's subgraphs call each other until there are more than 200000 operators");
  const std::string name = OutputName(op, *writer, index);
  OpContext context(op, writer, this);
  const TfliteRow* row = FindTfliteRow(CodeOf(code));
  const bool custom = CodeOf(code) == schema::BuiltinOperator::CUSTOM;
  const TfliteMapper mapper = custom ? FindCustom(Text(code.custom_code())) : row == nullptr ? nullptr : row->mapper;
  if (mapper == nullptr) {
    ++unknown_[OperatorName(code)];
    return Status::Ok();
  }
  if (!unknown_.empty()) return Status::Ok();  // what reads their outputs has nothing to read
  writer->BeginOperator(name, depth_ == 0 ? static_cast<int>(index) : -1);
  Status status;
  if (row != nullptr && (context.NumInputs() < row->least_inputs || context.NumOutputs() < row->least_outputs)) {
    status = Status::CorruptModel(fmt::format("it has {} inputs and {} outputs, expected {} and {} at least",
                                              context.NumInputs(), context.NumOutputs(), row->least_inputs,
                                              row->least_outputs));
  }
  for (size_t i = 0; status.ok() && row != nullptr && i < row->least_inputs; ++i) {
    if (!context.Has(i)) status = Status::CorruptModel(fmt::format("its input {} is left out", i));
  }
  for (size_t i = 0; status.ok() && row != nullptr && i < row->least_outputs; ++i) {
    if (context.OutputIndex(i) < 0) status = Status::CorruptModel(fmt::format("its output {} is left out", i));
  }
  if (custom && (context.NumOutputs() == 0 || context.OutputIndex(0) < 0))
    status = Status::CorruptModel("it has no output, expected one at least");
  if (status.ok()) status = mapper(context);
  return status.AddContext(fmt::format("operator {} '{}' ({})", index, name, OperatorName(code)));
}

Result<std::string> Translator::VariableOf(OpContext& c) const {
  const auto found = handles_.find({&c.writer(), c.InputIndex(0)});
  if (found != handles_.end()) return found->second;
  return Status::CorruptModel(fmt::format("tensor {} is no variable's handle", c.InputIndex(0)));
}

Result<std::pair<std::string, std::string>> Translator::ComplexPartsOf(OpContext& c) const {
  const auto found = complex_.find({&c.writer(), c.InputIndex(0)});
  if (found != complex_.end()) return found->second;
  return Status::CorruptModel(fmt::format("tensor {} holds no complex numbers", c.InputIndex(0)));
}

Status Translator::Operators(GraphWriter* writer) {
  const auto* operators = writer->graph().operators();
  for (size_t i = 0; operators != nullptr && i < operators->size(); ++i)
    PLUMB_RETURN_IF_ERROR(Operator(*operators->Get(static_cast<flatbuffers::uoffset_t>(i)), i, writer));
  return Status::Ok();
}

Result<onnx::GraphIr> Translator::Inner(size_t graph, const std::string& prefix,
                                        const std::vector<std::string>& inputs) {
  if (depth_ >= kInnerMaxDepth)
    return Status::CorruptModel(fmt::format("subgraphs lie more than {} deep in each other", kInnerMaxDepth));
  GraphWriter writer(file_, graph, prefix, &budget_);
  PLUMB_RETURN_IF_ERROR(writer.Begin());
  const auto* declared = writer.graph().inputs();
  const size_t count = declared == nullptr ? 0 : declared->size();
  if (count != inputs.size()) {
    return Status::CorruptModel(fmt::format("subgraph {} takes {} inputs, found {}", graph, count, inputs.size()));
  }
  for (size_t i = 0; i < count; ++i)
    PLUMB_RETURN_IF_ERROR(writer.DefineInput(declared->Get(static_cast<flatbuffers::uoffset_t>(i)), inputs[i]));
  ++depth_;
  const Status status = Operators(&writer);
  --depth_;
  ForgetTensorsOf(&writer, &handles_);
  ForgetTensorsOf(&writer, &complex_);
  PLUMB_RETURN_IF_ERROR(Status(status).AddContext(fmt::format("subgraph {}", graph)));
  return writer.Finish();
}

Result<Translated> Translator::Run(size_t graph) {
  GraphWriter writer(file_, graph, "", &budget_);
  PLUMB_RETURN_IF_ERROR(writer.Begin());
  Translated translated;
  onnx::ModelIr& model = translated.model;
  const auto* inputs = writer.graph().inputs();
  for (size_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
    const int tensor = inputs->Get(static_cast<flatbuffers::uoffset_t>(i));
    PLUMB_RETURN_IF_ERROR(writer.DefineInput(tensor, writer.NameOf(tensor)));
    model.graph.inputs.push_back(DeclaredAs(writer, tensor));
  }
  const Status written = Operators(&writer);
  if (!unknown_.empty()) {
    std::string names;
    for (const auto& [name, count] : unknown_)
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name, count);
    return Status::NotSupported(fmt::format("Plumb has no operator for {}; doc/tflite.md lists what it reads", names));
  }
  PLUMB_RETURN_IF_ERROR(written);
  model.file_nodes = OperatorsOf(file_, writer);
  std::vector<onnx::ValueInfoIr> declared = std::move(model.graph.inputs);
  PLUMB_ASSIGN_OR_RETURN(model.graph, writer.Finish());
  model.graph.inputs = std::move(declared);
  for (const auto& variable : variables_) model.graph.kept.push_back(variable.second);
  model.source = file_.path();
  model.producer = model.format = "TFLite";
  model.opsets = {{"", kWrittenOpset}, {kOwnDomain, 1}};
  translated.held_first = writer.HeldFirst();
  return translated;
}

}  // namespace plumb::tflite
