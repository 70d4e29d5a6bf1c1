// SPDX-License-Identifier: Apache-2.0
// The tnnproto writer: TNN's line format to the byte, always v2. Inputs and outputs keep the graph's order (TNN sorts
// them when it reads); the list of all blobs is sorted. Where TNN prints floats with 6 digits, we print what reads back
// exactly.
#include <fmt/core.h>

#include <set>

#include "format/tnn/name_writer.h"
#include "format/tnn/names.h"
#include "format/tnn/param_tokens.h"
#include "format/tnn/proto.h"
#include "format/tnn/types.h"

namespace plumb::tnn {
namespace {

std::string Line(const std::string& text) { return fmt::format("\"{},\"\n", text); }

Status CheckName(const std::string& name, const char* what) {
  if (!name.empty()) return Status::Ok();
  return Status::InvalidArgument(fmt::format("a {} has an empty name, which tnnproto cannot hold; name it", what));
}

Status CheckNames(const Graph& graph) {
  for (const GraphInput& input : graph.inputs) PLUMB_RETURN_IF_ERROR(CheckName(input.name, "network input"));
  for (const std::string& name : graph.outputs) PLUMB_RETURN_IF_ERROR(CheckName(name, "network output"));
  for (const Layer& layer : graph.layers) {
    const std::string frame = fmt::format("layer {} '{}' ({})", layer.index, layer.name, layer.type);
    PLUMB_RETURN_IF_ERROR(CheckName(layer.name, "layer").AddContext(frame));
    for (const std::string& name : layer.inputs) PLUMB_RETURN_IF_ERROR(CheckName(name, "blob").AddContext(frame));
    for (const std::string& name : layer.outputs) PLUMB_RETURN_IF_ERROR(CheckName(name, "blob").AddContext(frame));
    for (const std::string& text : TextParams(layer))
      PLUMB_RETURN_IF_ERROR(CheckName(text, "parameter").AddContext(frame));
  }
  return Status::Ok();
}

std::string InputsLine(const Graph& graph, const NameWriter& names) {
  std::string text;
  for (const GraphInput& input : graph.inputs) {
    if (!text.empty()) text += ": ";
    text += fmt::format("{} {} ", names.Blob(input.name), input.shape.rank());
    for (const int64_t dim : input.shape.dims()) text += std::to_string(dim) + " ";
    text += std::to_string(DataTypeNumber(input.dtype)) + " ";
  }
  return Line(text);
}

Result<std::string> LayerLine(const Layer& layer, const NameWriter& names) {
  PLUMB_ASSIGN_OR_RETURN(std::string text, TypeStringOf(layer));
  text += fmt::format(" {} {} {} ", names.Other(layer.name), layer.inputs.size(), layer.outputs.size());
  for (const std::string& name : layer.inputs) text += names.Blob(name) + " ";
  for (const std::string& name : layer.outputs) text += names.Blob(name) + " ";
  for (const std::string& token : ParamTokens(layer)) text += names.Other(token) + " ";
  return Line(text);
}

}  // namespace

Result<std::string> FormatProto(const Graph& graph) {
  PLUMB_RETURN_IF_ERROR(CheckNames(graph));
  const NameWriter names(graph);
  std::set<std::string> blobs;
  for (const Layer& layer : graph.layers) {
    for (const std::string& name : layer.inputs) blobs.insert(names.Blob(name));
    for (const std::string& name : layer.outputs) blobs.insert(names.Blob(name));
  }
  const std::string third = names.escapes() ? std::string(kEscapedHeader) : "1";
  std::string text = Line(fmt::format("1 {} {} {} ", blobs.size(), third, kMagicV2));
  text += InputsLine(graph, names);
  std::string list = " ";
  for (const std::string& name : blobs) list += name + " ";
  text += Line(list);
  list.clear();
  for (const std::string& name : graph.outputs) list += names.Blob(name) + " ";
  text += Line(list);
  text += Line(fmt::format(" {} ", graph.layers.size()));
  for (const Layer& layer : graph.layers) {
    const Result<std::string> line = LayerLine(layer, names);
    if (!line.ok()) {
      return line.status().AddContext(fmt::format("layer {} '{}' ({})", layer.index, layer.name, layer.type));
    }
    text += *line;
  }
  return text;
}

}  // namespace plumb::tnn
