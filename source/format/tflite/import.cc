// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/import.h"

#include <fmt/core.h>

#include "format/onnx/import.h"
#include "format/tflite/converter.h"
#include "format/tflite/translator.h"

namespace plumb::tflite {
namespace {

// Opens the dims of network inputs that their shape signatures leave open; false when there are none.
bool OpenAsSigned(const schema::SubGraph& graph, onnx::ModelIr* model) {
  bool open = false;
  for (size_t i = 0; i < model->graph.inputs.size(); ++i) {
    const int32_t index = graph.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto* dims = graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index))->shape_signature();
    for (size_t d = 0; dims != nullptr && d < dims->size(); ++d) {
      if (dims->Get(static_cast<flatbuffers::uoffset_t>(d)) >= 0) continue;
      model->graph.inputs[i].dims[d] = -1;
      open = true;
    }
  }
  return open;
}

// A note where nobody chose among several signatures; else "".
std::string SignaturesNote(const ModelFile& file, const std::string& chosen) {
  const auto* signatures = file.root().signature_defs();
  if (!chosen.empty() || signatures == nullptr || signatures->size() < 2) return "";
  std::string names, read;
  for (size_t i = 0; i < signatures->size(); ++i) {
    const schema::SignatureDef& signature = *signatures->Get(static_cast<flatbuffers::uoffset_t>(i));
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", Text(signature.signature_key()));
    if (signature.subgraph_index() == 0 && read.empty())
      read = fmt::format(", that of '{}',", Text(signature.signature_key()));
  }
  return fmt::format("signatures: {}; the first subgraph{} is the network (LoadOptions::signature)", names, read);
}

using TensorMaps = flatbuffers::Vector<flatbuffers::Offset<schema::TensorMap>>;

std::vector<std::pair<std::string, std::string>> NamesOf(const TensorMaps* maps, const schema::SubGraph& graph) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; maps != nullptr && i < maps->size(); ++i) {
    const schema::TensorMap& map = *maps->Get(static_cast<flatbuffers::uoffset_t>(i));
    names.emplace_back(Text(map.name()), Text(graph.tensors()->Get(map.tensor_index())->name()));
  }
  return names;
}

}  // namespace

Result<Graph> LoadTfliteBytes(FileBytes bytes, const std::string& path, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Read(std::move(bytes), path));
  PLUMB_ASSIGN_OR_RETURN(const size_t chosen, file->GraphOf(options.signature));
  Result<Translated> translated = Translator(*file, options.skip_weights).Run(chosen);
  if (!translated.ok()) return translated.status().AddContext(fmt::format("model '{}'", path));
  Result<Graph> imported = onnx::ImportAtAnyShape(translated->model, options);
  // The shape that the file gives may be a mere place holder (1 for each open dim), with which nothing runs.
  if (!imported.ok() && OpenAsSigned(file->graph(chosen), &translated->model))
    imported = onnx::ImportAtAnyShape(translated->model, options);
  if (!imported.ok()) return imported.status();
  Graph graph = std::move(*imported);
  for (std::string& note : ConverterNotes(*file)) graph.notes.push_back(std::move(note));
  if (std::string note = SignaturesNote(*file, options.signature); !note.empty())
    graph.notes.push_back(std::move(note));
  for (const Layer& layer : graph.layers) {
    for (const std::string& blob : layer.outputs) {
      const auto held = translated->held_first.find(blob);
      if (held != translated->held_first.end()) graph.file_axes[blob] = LastAxes(held->second);
    }
  }
  return graph;
}

Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path, const std::string& signature) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Open(path));
  PLUMB_ASSIGN_OR_RETURN(const size_t chosen, file->GraphOf(signature));
  std::vector<DeclaredInput> inputs;
  const schema::SubGraph& graph = file->graph(chosen);
  for (size_t i = 0; graph.inputs() != nullptr && i < graph.inputs()->size(); ++i) {
    const int32_t index = graph.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const schema::Tensor& tensor = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
    const std::vector<int64_t> dims = ShapeOf(tensor).dims();
    inputs.push_back({Text(tensor.name()), DType::kF32, true, dims, std::vector<std::string>(dims.size())});
  }
  return inputs;
}

Result<std::vector<ModelTensor>> Tensors(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Open(path));
  std::vector<ModelTensor> tensors;
  for (size_t g = 0; g < file->num_graphs(); ++g) {
    const auto* listed = file->graph(g).tensors();
    for (size_t i = 0; listed != nullptr && i < listed->size(); ++i) {
      const schema::Tensor& from = *listed->Get(static_cast<flatbuffers::uoffset_t>(i));
      ModelTensor& tensor = tensors.emplace_back();
      tensor.graph = static_cast<int>(g);
      tensor.index = static_cast<int>(i);
      tensor.name = Text(from.name());
      tensor.type = schema::EnumNameTensorType(from.type());
      tensor.shape = ShapeOf(from).dims();
      for (size_t d = 0; from.shape_signature() != nullptr && d < from.shape_signature()->size(); ++d)
        tensor.shape[d] = from.shape_signature()->Get(static_cast<flatbuffers::uoffset_t>(d));
      Grid grid = GridOf(from);
      tensor.scale = std::move(grid.scale);
      tensor.zero_point = std::move(grid.zero_point);
      tensor.axis = grid.axis;
      tensor.buffer = from.buffer();
      tensor.bytes = file->Data(from.buffer()).size();
    }
  }
  return tensors;
}

Result<onnx::ModelIr> NodesOf(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Open(path));
  PLUMB_ASSIGN_OR_RETURN(const size_t chosen, file->GraphOf(""));
  Result<Translated> translated = Translator(*file, /*skip_weights=*/false).Run(chosen);
  if (!translated.ok()) return translated.status().AddContext(fmt::format("model '{}'", path));
  return std::move(translated->model);
}

Result<std::vector<ModelSignature>> Signatures(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Open(path));
  std::vector<ModelSignature> signatures;
  const auto* listed = file->root().signature_defs();
  for (size_t i = 0; listed != nullptr && i < listed->size(); ++i) {
    const schema::SignatureDef& from = *listed->Get(static_cast<flatbuffers::uoffset_t>(i));
    const schema::SubGraph& graph = file->graph(from.subgraph_index());
    signatures.push_back({Text(from.signature_key()), static_cast<int>(from.subgraph_index()),
                          NamesOf(from.inputs(), graph), NamesOf(from.outputs(), graph)});
  }
  return signatures;
}

Result<Graph> LoadTflite(const std::string& path, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(FileBytes bytes, ReadFile(path));
  return LoadTfliteBytes(std::move(bytes), path, options);
}

}  // namespace plumb::tflite
