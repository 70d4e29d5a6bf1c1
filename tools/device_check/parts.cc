#include "device_check/parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "device_check/report.h"
#include "plumb/file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kLists[] = {"files", "absent", "errors"};  // of a manifest

uint64_t BytesOf(const Layer& layer, const BlobTable& blobs) {
  uint64_t bytes = 0;
  for (const std::string& output : layer.outputs) {
    const auto found = blobs.find(output);
    if (found == blobs.end()) continue;
    bytes += static_cast<uint64_t>(found->second.shape.NumElements()) * DTypeSize(found->second.dtype);
  }
  return bytes;
}

Result<Json> ReadManifest(const std::string& folder) {
  const std::string what = fmt::format("'{}/manifest.json'", folder);
  PLUMB_ASSIGN_OR_RETURN(Json manifest, ReadMachineJson(what, folder + "/manifest.json"));
  for (const char* list : kLists) {
    const Json& found = manifest.emplace(list, Json::array()).first.value();
    if (!found.is_array())
      return Status::CorruptModel(fmt::format("{}: {}: expected a list, found a {}", what, list, found.type_name()));
  }
  const Json& complete = manifest.emplace("complete", true).first.value();
  if (complete.is_boolean()) return manifest;
  return Status::CorruptModel(
      fmt::format("{}: complete: expected true or false, found a {}", what, complete.type_name()));
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
  Json joined;
  for (size_t i = 0; i < parts; ++i) {
    const std::string folder = fmt::format("{}/{}", from, i);
    PLUMB_ASSIGN_OR_RETURN(const Json part, ReadManifest(folder));
    PLUMB_RETURN_IF_ERROR(MoveFiles(folder, to));
    if (joined.is_null()) {
      joined = part;
      continue;
    }
    for (const char* list : kLists) {
      for (const Json& entry : part[list]) joined[list].push_back(entry);
    }
    joined["complete"] = joined["complete"].get<bool>() && part["complete"].get<bool>();
  }
  const std::string text = joined.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return WriteFile(to + "/manifest.json", text);
}

}  // namespace plumb
