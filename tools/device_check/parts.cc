// SPDX-License-Identifier: Apache-2.0
#include "device_check/parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "plumb/tool/file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

uint64_t BytesOf(const Layer& layer, const BlobTable& blobs) {
  uint64_t bytes = 0;
  for (const std::string& output : layer.outputs) {
    const auto found = blobs.find(output);
    if (found == blobs.end()) continue;
    bytes += static_cast<uint64_t>(found->second.shape.NumElements()) * DTypeSize(found->second.dtype);
  }
  return bytes;
}

Status MoveFiles(const std::string& from, const std::string& to) {
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const fs::path name = at->path().filename();
    if (name == "manifest.json") continue;
    fs::rename(at->path(), fs::path(to) / name, error);
    if (error) break;
  }
  if (error) return Status::IoError(fmt::format("cannot move '{}' to '{}': {}", from, to, error.message()));
  return Status::Ok();
}

}  // namespace

Result<std::vector<DumpPart>> PlanParts(const Graph& graph, uint64_t bytes) {
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  std::string readers;
  for (const Layer& layer : graph.layers) {
    const bool reads = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const std::string& name) {
      return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                         [&](const GraphInput& input) { return input.name == name; });
    });
    if (reads) readers += (readers.empty() ? "" : ",") + std::to_string(layer.index);
  }
  std::vector<DumpPart> parts;
  if (!readers.empty()) parts.push_back({readers, true});
  uint64_t held = 0;
  int first = 0;
  for (const Layer& layer : graph.layers) {
    const uint64_t more = BytesOf(layer, blobs);
    if (layer.index > first && held + more > bytes) {
      parts.push_back({fmt::format("{}-{}", first, layer.index - 1), false});
      first = layer.index;
      held = 0;
    }
    held += more;
  }
  if (!graph.layers.empty()) parts.push_back({fmt::format("{}-{}", first, graph.layers.back().index), false});
  return parts;
}

Status JoinParts(const std::string& from, size_t parts, const std::string& to) {
  std::error_code error;
  fs::create_directories(to, error);
  std::vector<std::pair<std::string, std::string>> manifests;
  for (size_t i = 0; i < parts; ++i) {
    const std::string path = fmt::format("{}/{}/manifest.json", from, i);
    PLUMB_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(path));
    manifests.emplace_back(path, std::move(text));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string joined, JoinManifests(manifests));
  for (size_t i = 0; i < parts; ++i) PLUMB_RETURN_IF_ERROR(MoveFiles(fmt::format("{}/{}", from, i), to));
  return WriteFile(to + "/manifest.json", joined);
}

}  // namespace plumb
