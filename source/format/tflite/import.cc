// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/import.h"

#include <fmt/core.h>

#include "format/onnx/import.h"
#include "format/tflite/converter.h"
#include "format/tflite/translator.h"

namespace plumb::tflite {
namespace {

// Opens the dims of network inputs that their signatures leave open; false when there are none.
bool OpenAsSigned(const ModelFile& file, onnx::ModelIr* model) {
  bool open = false;
  const schema::SubGraph& graph = file.graph(0);
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

}  // namespace

Result<Graph> LoadTfliteBytes(FileBytes bytes, const std::string& path, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Read(std::move(bytes), path));
  Result<Translated> translated = Translator(*file, options.skip_weights).Run();
  if (!translated.ok()) return translated.status().AddContext(fmt::format("model '{}'", path));
  Result<Graph> imported = onnx::ImportAtAnyShape(translated->model, options);
  // The shape that the file gives may be a mere place holder (1 for each open dim), with which nothing runs.
  if (!imported.ok() && OpenAsSigned(*file, &translated->model))
    imported = onnx::ImportAtAnyShape(translated->model, options);
  if (!imported.ok()) return imported.status();
  Graph graph = std::move(*imported);
  for (std::string& note : ConverterNotes(*file)) graph.notes.push_back(std::move(note));
  for (const Layer& layer : graph.layers) {
    for (const std::string& blob : layer.outputs) {
      const auto held = translated->held_first.find(blob);
      if (held != translated->held_first.end()) graph.file_axes[blob] = LastAxes(held->second);
    }
  }
  return graph;
}

Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelFile::Open(path));
  std::vector<DeclaredInput> inputs;
  const schema::SubGraph& graph = file->graph(0);
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
  Result<Translated> translated = Translator(*file, /*skip_weights=*/false).Run();
  if (!translated.ok()) return translated.status().AddContext(fmt::format("model '{}'", path));
  return std::move(translated->model);
}

Result<Graph> LoadTflite(const std::string& path, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(FileBytes bytes, ReadFile(path));
  return LoadTfliteBytes(std::move(bytes), path, options);
}

}  // namespace plumb::tflite
