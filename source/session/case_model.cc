// SPDX-License-Identifier: Apache-2.0
#include "session/case_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "format/onnx/extract.h"
#include "graph/resources.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

// The blobs of the part that somebody outside of it reads, and those that are shown.
std::vector<std::string> OutputsOfPart(const Graph& graph, const std::set<int>& layers,
                                       const std::set<std::string>& shown) {
  std::set<std::string> read(graph.outputs.begin(), graph.outputs.end());
  std::set<std::string> inside;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const std::vector<std::string>& inputs = graph.layers[i].inputs;
    (layers.count(static_cast<int>(i)) > 0 ? inside : read).insert(inputs.begin(), inputs.end());
  }
  std::vector<std::string> outputs;
  for (const int i : layers) {
    for (const std::string& blob : graph.layers[static_cast<size_t>(i)].outputs) {
      const bool wanted = read.count(blob) > 0 || shown.count(blob) > 0 || inside.count(blob) == 0;
      if (wanted && !blob.empty()) outputs.push_back(blob);
    }
  }
  return outputs;
}

Result<Graph> GraphOfPart(const Graph& whole, const std::set<int>& layers, const std::vector<NamedTensor>& inputs,
                          std::vector<std::string> outputs) {
  Graph part;
  part.source = whole.source;
  part.weights_generated = whole.weights_generated;
  part.weight_seed = whole.weight_seed;
  for (const NamedTensor& input : inputs)
    part.inputs.push_back({input.name, input.tensor.dtype(), input.tensor.shape()});
  for (const int i : layers) {
    part.layers.push_back(whole.layers[static_cast<size_t>(i)]);
    part.layers.back().index = static_cast<int>(part.layers.size()) - 1;
    for (const std::string& blob : part.layers.back().inputs) {
      const auto constant = whole.constants.find(blob);
      if (constant != whole.constants.end()) part.constants.insert(*constant);
    }
  }
  part.outputs = std::move(outputs);
  PLUMB_RETURN_IF_ERROR(InferShapes(part).status());
  return part;
}

// Of its values only the dtype counts.
Result<NamedTensor> Placeholder(const Graph& graph, const BlobTable& blobs, const std::string& blob) {
  const auto known = blobs.find(blob);
  const DType carried = known == blobs.end() ? DType::kF32 : known->second.dtype;
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Zeros(graph.ModelDType(blob, carried), {}));
  return NamedTensor{blob, std::move(tensor)};
}

}  // namespace

std::vector<std::string> CaseModel::InputsOf(const Graph& graph, const std::set<int>& layers) {
  std::set<std::string> made;
  std::vector<std::string> inputs;
  for (const int i : layers) {
    const Layer& layer = graph.layers[static_cast<size_t>(i)];
    for (const std::string& blob : layer.inputs) {
      if (blob.empty() || graph.constants.count(blob) > 0 || !made.insert(blob).second) continue;
      inputs.push_back(blob);
    }
    made.insert(layer.outputs.begin(), layer.outputs.end());
  }
  return inputs;
}

Result<CaseModel> CaseModel::Make(const ModelFiles& files, const Graph& graph, const std::set<int>& layers,
                                  const std::map<std::string, Tensor>& values, const std::set<std::string>& shown,
                                  const std::string& work) {
  CaseModel model;
  for (const std::string& blob : InputsOf(graph, layers)) {
    const auto value = values.find(blob);
    if (value == values.end()) return Status::NotSupported(fmt::format("nobody knows the values of blob '{}'", blob));
    model.inputs_.push_back({blob, value->second});
  }
  const std::vector<std::string> outputs = OutputsOfPart(graph, layers, shown);
  const ModelFormat* format = FindModelFormat(files.structure);
  if (format == nullptr || std::string(format->type) != "ONNX") {
    PLUMB_ASSIGN_OR_RETURN(model.model_, GraphOfPart(graph, layers, model.inputs_, outputs));
    return model;
  }
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  std::vector<NamedTensor> placeholders;
  for (const std::string& blob : outputs) {
    PLUMB_ASSIGN_OR_RETURN(NamedTensor placeholder, Placeholder(graph, blobs, blob));
    placeholders.push_back(std::move(placeholder));
  }
  for (NamedTensor& input : model.inputs_) {
    PLUMB_ASSIGN_OR_RETURN(input.tensor, input.tensor.ConvertedTo(graph.ModelDType(input.name, input.tensor.dtype())));
  }
  std::error_code error;
  std::filesystem::create_directories(work + "/test_data_set_0", error);
  PLUMB_RETURN_IF_ERROR(onnx::WriteOnnxPart(files.structure, work, model.inputs_, placeholders));
  PLUMB_ASSIGN_OR_RETURN(onnx::SmallModel part, onnx::SmallModel::Open(work + "/model.onnx"));
  const auto unread = [&](const NamedTensor& input) { return !part.HasInput(input.name); };
  model.inputs_.erase(std::remove_if(model.inputs_.begin(), model.inputs_.end(), unread), model.inputs_.end());
  model.model_ = std::move(part);
  return model;
}

std::vector<CaseSize> CaseModel::Sizes() const {
  std::vector<CaseSize> sizes;
  for (const NamedTensor& input : inputs_) {
    const Shape& shape = input.tensor.shape();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] > 1) sizes.push_back({true, {ModelSize::kDim, -1, input.name, axis, shape[axis]}});
    }
  }
  const std::vector<ModelSize> inside =
      is_onnx() ? std::get<onnx::SmallModel>(model_).Sizes() : SizesOf(std::get<Graph>(model_));
  for (const ModelSize& size : inside) sizes.push_back({false, size});
  return sizes;
}

Status CaseModel::Cut(const CaseSize& size, int64_t begin, int64_t end) {
  if (!size.input) {
    if (is_onnx()) return std::get<onnx::SmallModel>(model_).Cut(size.of, begin, end);
    return CutSize(size.of, begin, end, &std::get<Graph>(model_));
  }
  for (NamedTensor& input : inputs_) {
    if (input.name != size.of.name) continue;
    PLUMB_ASSIGN_OR_RETURN(input.tensor, SliceAxis(input.tensor, size.of.at, begin, end));
    if (is_onnx()) {
      std::get<onnx::SmallModel>(model_).SetInputShape(input.name, input.tensor.shape());
      continue;
    }
    for (GraphInput& declared : std::get<Graph>(model_).inputs) {
      if (declared.name == input.name) declared.shape = input.tensor.shape();
    }
  }
  return Status::Ok();
}

Result<std::string> CaseModel::Write(const std::string& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::IoError(fmt::format("folder '{}' cannot be made: {}", folder, error.message()));
  PLUMB_RETURN_IF_ERROR(WriteTensors(folder + "/inputs.npz", inputs_));
  if (is_onnx()) {
    const std::string path = folder + "/model.onnx";
    PLUMB_RETURN_IF_ERROR(std::get<onnx::SmallModel>(model_).Write(path));
    return path;
  }
  PLUMB_RETURN_IF_ERROR(SaveModel(std::get<Graph>(model_), folder + "/model"));
  return folder + "/model.tnnproto";
}

Status CaseModel::CheckSizes(const std::string& folder) const {
  if (is_onnx()) {
    PLUMB_ASSIGN_OR_RETURN(const std::string path, Write(folder));
    LoadOptions load;
    load.evaluator = ReferenceEvaluator();
    return LoadModel(path, load).status();
  }
  Graph graph = std::get<Graph>(model_);
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  return CheckResources(blobs, &graph);
}

}  // namespace plumb
