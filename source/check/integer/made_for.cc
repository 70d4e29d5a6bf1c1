// SPDX-License-Identifier: Apache-2.0
#include "check/integer/made_for.h"

#include <string>

#include "plumb/model.h"

namespace plumb {

bool IsOfTflite(const Graph& graph) {
  const ModelFormat* format = FindModelFormat(graph.source);
  return format != nullptr && std::string(format->type) == "TFLITE";
}

bool HasOwnRules(MadeFor runtime) {
  return runtime == MadeFor::kTnn || runtime == MadeFor::kNcnn || runtime == MadeFor::kMnn;
}

MadeFor MadeForOf(const Scene& scene) {
  const ModelFormat* format = FindModelFormat(scene.graph->source);
  const std::string type = format == nullptr ? "" : format->type;
  const auto is_of = [&](const char* words) { return scene.description.find(words) != std::string::npos; };
  if (is_of(", dump of ncnn ")) return MadeFor::kNcnn;
  if (type == "TNN" && is_of(", dump of litert ")) return MadeFor::kLiteRt;  // what was converted
  if (type == "TNN" && is_of(", dump of onnxruntime ")) return MadeFor::kOnnxRuntime;
  const size_t mnn = scene.description.find(", dump of mnn ");
  if (mnn != std::string::npos && scene.description.find("int8", mnn) != std::string::npos) return MadeFor::kMnn;
  return type == "TFLITE" ? MadeFor::kLiteRt : type == "TNN" ? MadeFor::kTnn : MadeFor::kOnnxRuntime;
}

}  // namespace plumb
