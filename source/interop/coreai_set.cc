// SPDX-License-Identifier: Apache-2.0
// Apple's NAME.aimodelintermediates: a folder of data/*.npy and metadata.json, which coreai-torch's save_intermediates
// writes of a torch.export program and Core AI Debugger opens as a reference run.
//
// Format: coreai_torch/debugging/torch_utils.py of PyPI's coreai-torch 0.4.3 and Apple's page "Validating inference
// correctness against a reference run": {"inputs": {NODE: ENTRY}, "outputs": {...}, "intermediates": {...}}, an ENTRY
// has node_name, node_op, node_target, data_file (relative), shape, torch_dtype, numel; bf16 is stored as f32. Nodes
// are those of torch.export, as torch.onnx's dynamo exporter names its tensors, too.
#include <fmt/core.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "interop/foreign_formats.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using CoreAiJson = FileJson;

constexpr const char* kCoreAiFolder = ".aimodelintermediates";
constexpr const char* kCoreAiFile = "metadata.json";

// Where metadata.json is; empty: nowhere here.
std::string CoreAiMetadata(const ForeignPlace& place) {
  if (!place.is_folder) return fs::path(place.path).filename() == kCoreAiFile ? place.path : "";
  const std::vector<std::string> inner = place.Ending(kCoreAiFolder);
  if (place.Has(kCoreAiFile)) return place.In(kCoreAiFile);
  if (EndsWith(place.path, kCoreAiFolder)) return place.In(kCoreAiFile);  // which is missing
  return inner.size() == 1 ? fmt::format("{}/{}", place.In(inner[0]), kCoreAiFile) : "";
}

Result<StoredTensor> CoreAiEntry(const std::string& folder, const std::string& metadata, const std::string& node,
                                 const CoreAiJson& entry, bool is_input) {
  const std::string where = fmt::format("'{}': node '{}'", metadata, node);
  const auto file = entry.find("data_file"), dims = entry.find("shape");
  if (file == entry.end() || !file->is_string() || dims == entry.end()) {
    return Status::CorruptModel(where + ": expected 'data_file', a name, and 'shape', a list of numbers");
  }
  PLUMB_ASSIGN_OR_RETURN(const Shape shape, ShapeOfJson(*dims, where + ", shape"));
  PLUMB_ASSIGN_OR_RETURN(const std::string path, PathInside(folder, file->get<std::string>(), where));
  if (!EndsWith(path, ".npy")) return Status::CorruptModel(fmt::format("{}: '{}' is no .npy file", where, path));
  StoredTensor stored;
  stored.name = node;
  stored.origin = path;
  stored.is_input = is_input;
  stored.load = [path, shape, node] {
    return ReadDescribed(path, shape, fmt::format("{} of node '{}'", kCoreAiFile, node));
  };
  return stored;
}

}  // namespace

ForeignRead ReadCoreAi(const ForeignPlace& place) {
  const std::string metadata = CoreAiMetadata(place);
  if (metadata.empty()) return ForeignRead(std::nullopt);
  const std::string folder = fs::path(metadata).parent_path().string();
  const bool surely = EndsWith(folder, kCoreAiFolder);
  const auto bytes = ReadFile(metadata, uint64_t{1} << 30);
  if (!bytes.ok()) return surely ? ForeignRead(bytes.status()) : ForeignRead(std::nullopt);
  PLUMB_RETURN_IF_ERROR(CheckJsonDepth(bytes->text(), metadata));
  const CoreAiJson json = CoreAiJson::parse(bytes->text(), nullptr, /*allow_exceptions=*/false);
  const char* kinds[] = {"inputs", "outputs", "intermediates"};
  for (const char* kind : kinds) {
    if (json.is_object() && json.contains(kind) && json[kind].is_object()) continue;
    if (!surely) return ForeignRead(std::nullopt);
    return ForeignRead(Status::CorruptModel(fmt::format(
        "'{}' {}, expected what coreai-torch's save_intermediates writes: objects 'inputs', 'outputs', 'intermediates'",
        metadata, json.is_discarded() ? "is no JSON" : fmt::format("has no object '{}'", kind))));
  }
  ForeignTensors found;
  found.description = "Core AI intermediates";
  for (const char* kind : kinds) {
    for (const auto& [node, entry] : json[kind].items()) {
      auto stored = CoreAiEntry(folder.empty() ? "." : folder, metadata, node, entry, kind == kinds[0]);
      if (!stored.ok()) return ForeignRead(stored.status());
      found.tensors.push_back(std::move(*stored));
    }
  }
  return ForeignRead(std::move(found));
}

}  // namespace plumb
