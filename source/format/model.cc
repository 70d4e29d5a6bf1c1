// SPDX-License-Identifier: Apache-2.0
// LoadModel and SaveModel: chooses the format by suffix, then reads, completes and checks the graph.
#include "plumb/model.h"

#include <fmt/core.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/memory_budget.h"
#include "base/text.h"
#include "format/next_step.h"
#include "format/open_dims.h"
#include "format/tnn/expand_quantized.h"
#include "format/tnn/model.h"
#include "format/tnn/proto.h"
#include "graph/random_weights.h"
#include "graph/resources.h"
#include "op/core/op.h"

namespace plumb {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;  // 10,000 layers take 2 MiB; a layer in memory 30 times its text

bool Exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Status CheckFormat(const std::string& path) {
  if (path.empty()) return Status::InvalidArgument("no model is named; give a tnnproto file");
  const ModelFormat* format = FindModelFormat(path);
  if (format != nullptr && format->holds != ModelFormat::kWeights) return Status::Ok();
  if (format != nullptr) {
    return Status::InvalidArgument(fmt::format(
        "model '{}' holds weights only; name its tnnproto (which takes the tnnmodel beside it), or both", path));
  }
  if (const std::string step = NextStepFor(path); !step.empty())
    return Status::NotSupported(fmt::format("model '{}' is {}", path, step));
  return Status::InvalidArgument(
      fmt::format("model '{}' has no suffix that names a model format; expected {}", path, ModelSuffixes()));
}

// The tnnmodel to read, or empty when weights are to be generated.
std::string WeightsOf(const ModelFiles& files, const LoadOptions& options) {
  if (options.random_weights) return {};
  if (!files.weights.empty()) return files.weights;
  const std::string beside = files.structure.substr(0, files.structure.size() - 5) + "model";
  return Exists(beside) ? beside : std::string();
}

Status SetInputShapes(const std::map<std::string, Shape>& shapes, Graph* graph) {
  for (const auto& [name, shape] : shapes) {
    bool found = false;
    std::string known;
    for (GraphInput& input : graph->inputs) {
      known += fmt::format("{}{}'", known.empty() ? "'" : ", '", input.name);
      if (input.name != name) continue;
      input.shape = shape;
      found = true;
    }
    if (!found) {
      return Status::InvalidArgument(fmt::format("model '{}': a shape is given for '{}', but the network inputs are {}",
                                                 graph->source, name, known.empty() ? "none" : known));
    }
  }
  return Status::Ok();
}

Result<FileSource> OpenWeights(const std::string& path) {
  Result<FileSource> source = OpenSource(path);
  if (source.ok() || source.status().code() != StatusCode::kNotFound) return source;
  return Status::NotFound(source.status().message() +
                          "; a tnnmodel that is named must exist: correct the name, or name the "
                          "tnnproto alone to run with generated weights");
}

std::vector<DeclaredInput> DeclaredInputs(const Graph& graph) {
  std::vector<DeclaredInput> inputs;
  for (const GraphInput& input : graph.inputs) {
    const std::vector<int64_t>& dims = input.shape.dims();
    inputs.push_back({input.name, input.dtype, true, dims, std::vector<std::string>(dims.size())});
  }
  return inputs;
}

// The graph's inputs with what FillOpenDims makes of open dims.
std::vector<DeclaredInput> FillInputs(const LoadOptions& options, Graph* graph) {
  std::vector<DeclaredInput> inputs = DeclaredInputs(*graph);
  const InputShapeMap given = GivenShapes(inputs, options);
  std::string note;
  inputs = FillOpenDims(std::move(inputs), given, &note);
  if (!note.empty()) graph->notes.push_back(note);
  for (size_t i = 0; i < inputs.size(); ++i) graph->inputs[i].shape = Shape(inputs[i].dims);
  return inputs;
}

// Shapes for what FillInputs left open.
Status ChooseOpenShapes(const std::vector<DeclaredInput>& inputs, const LoadOptions& options, Graph* graph) {
  if (std::none_of(inputs.begin(), inputs.end(), [](const DeclaredInput& input) { return input.open(); }))
    return Status::Ok();
  PLUMB_RETURN_IF_ERROR(
      CheckGivenShapes(inputs, options.input_shapes).AddContext(fmt::format("model '{}'", graph->source)));
  const FoundShapes found = FindShapes(inputs, [&](const InputShapeMap& shapes, const InputValues&) {
    return ShapeTrial{InferShapes(*graph, shapes).status(), {}};
  });
  if (options.open_dims == OpenDims::kRefuse || !found.runs()) {
    return OpenDimsError(inputs, found).AddContext(fmt::format("model '{}'", graph->source));
  }
  const InputShapeMap& shapes = options.open_dims == OpenDims::kSmallest ? found.smallest : found.usual;
  graph->notes.push_back(kChosenShapesNote + found.Options(shapes));
  return SetInputShapes(shapes, graph);
}

// What shape inference would refuse too, with the next step: a constant whose tnnmodel is not there.
Status CheckComplete(const Graph& graph, bool has_weights) {
  std::set<std::string> known;
  for (const GraphInput& input : graph.inputs) known.insert(input.name);
  for (const auto& entry : graph.constants) known.insert(entry.first);
  for (const Layer& layer : graph.layers) {
    for (const std::string& name : layer.inputs) {
      if (has_weights || known.count(name) > 0) continue;
      return Status::CorruptModel(fmt::format(
          "{}: reads blob '{}', which no earlier layer or input defines; if it is a constant, give the tnnmodel",
          LayerFrame(graph, layer), name));
    }
    known.insert(layer.outputs.begin(), layer.outputs.end());
  }
  return Status::Ok();
}

Result<Graph> LoadTnn(const ModelFiles& files, const LoadOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes text, ReadFile(files.structure, kMaxTextBytes));
  PLUMB_ASSIGN_OR_RETURN(tnn::Proto proto, tnn::ParseProto(text.text(), files.structure));
  Graph& graph = proto.graph;
  const std::vector<DeclaredInput> inputs = FillInputs(options, &graph);
  PLUMB_RETURN_IF_ERROR(SetInputShapes(options.input_shapes, &graph));
  const std::string weights = WeightsOf(files, options);
  if (!weights.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenWeights(weights));
    PLUMB_RETURN_IF_ERROR(tnn::ReadModel(source, weights, proto.escaped, &graph, options.skip_weights));
    graph.weights_source = weights;
    if (!options.keep_half) PLUMB_RETURN_IF_ERROR(ExpandHalf(&graph, options.skip_weights));
  }
  PLUMB_RETURN_IF_ERROR(CheckComplete(graph, !weights.empty()));
  PLUMB_RETURN_IF_ERROR(ChooseOpenShapes(inputs, options, &graph));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  if (weights.empty()) PLUMB_RETURN_IF_ERROR(GenerateWeights(blobs, options.seed, &graph));
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, &graph));
  if (!options.keep_quantized) PLUMB_RETURN_IF_ERROR(tnn::ExpandQuantized(blobs, options.record, &graph));
  return std::move(graph);
}

Result<Graph> LoadImported(const ModelFormat& format, const ModelFiles& files, const LoadOptions& options) {
  if (!files.weights.empty()) {
    return Status::InvalidArgument(
        fmt::format("model '{}' holds its weights itself, but '{}' is named too; name the {} file alone",
                    files.structure, files.weights, format.type));
  }
  PLUMB_ASSIGN_OR_RETURN(Graph graph, format.load(files.structure, options));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  if (options.random_weights) {
    for (Layer& layer : graph.layers) layer.resources.clear();
    PLUMB_RETURN_IF_ERROR(GenerateWeights(blobs, options.seed, &graph));
  }
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, &graph));
  return graph;
}

template <class Write>
Result<AtomicFile> WritePart(const std::string& path, Write&& write) {
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PLUMB_RETURN_IF_ERROR(write(&file));
  return file;
}

}  // namespace

namespace {

Result<Graph> Load(const ModelFiles& files, const LoadOptions& options) {
  PLUMB_RETURN_IF_ERROR(CheckFormat(files.structure));
  if (options.random_weights && !files.weights.empty()) {
    return Status::InvalidArgument(
        fmt::format("weights are to be generated, but '{}' is named too; choose one", files.weights));
  }
  const ModelFormat& format = *FindModelFormat(files.structure);
  if (!options.signature.empty() && format.signatures == nullptr) {
    return Status::InvalidArgument(
        fmt::format("model '{}': LoadOptions::signature is '{}', and only a .tflite file has signatures; leave it out",
                    files.structure, options.signature));
  }
  if (format.load != nullptr) return LoadImported(format, files, options);
  if (!options.input_values.empty()) {
    return Status::InvalidArgument(fmt::format(
        "model '{}': LoadOptions::input_values is for .onnx models, and this is none; convert the .onnx with it",
        files.structure));
  }
  return LoadTnn(files, options);
}

}  // namespace

Result<Graph> LoadModel(const ModelFiles& files, const LoadOptions& options) {
  return CatchNoMemory(fmt::format("model '{}'", files.structure), [&] { return Load(files, options); });
}

Result<Graph> LoadModel(const std::string& path, const LoadOptions& options) {
  return LoadModel(ModelFiles{path, ""}, options);
}

Result<std::map<std::string, std::string>> OpenInputs(const ModelFiles& files, const std::string& signature) {
  PLUMB_RETURN_IF_ERROR(CheckFormat(files.structure));
  const ModelFormat& format = *FindModelFormat(files.structure);
  if (format.open_inputs != nullptr) return format.open_inputs(files.structure, signature);
  PLUMB_ASSIGN_OR_RETURN(const FileBytes text, ReadFile(files.structure, kMaxTextBytes));
  PLUMB_ASSIGN_OR_RETURN(const tnn::Proto proto, tnn::ParseProto(text.text(), files.structure));
  return OpenAmong(DeclaredInputs(proto.graph));
}

namespace {

Status Save(const Graph& graph, const std::string& prefix, const SaveOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  Graph checked = graph;
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, &checked));
  PLUMB_ASSIGN_OR_RETURN(const std::string text, tnn::FormatProto(checked));
  PLUMB_ASSIGN_OR_RETURN(AtomicFile model, WritePart(prefix + ".tnnmodel", [&](AtomicFile* file) {
                           const auto sink = [file](const void* data, size_t size) { return file->Write(data, size); };
                           return tnn::WriteModel(checked, options.tnnmodel_version, sink);
                         }));
  PLUMB_ASSIGN_OR_RETURN(AtomicFile proto,
                         WritePart(prefix + ".tnnproto", [&](AtomicFile* file) { return file->Write(text); }));
  const FolderLock lock(std::filesystem::path(prefix).parent_path().string());  // of several runs the pair is one's
  PLUMB_RETURN_IF_ERROR(model.Commit());
  return proto.Commit();
}

}  // namespace

Status SaveModel(const Graph& graph, const std::string& prefix, const SaveOptions& options) {
  return CatchNoMemory(fmt::format("writing model '{}'", prefix), [&] { return Save(graph, prefix, options); });
}

}  // namespace plumb
