// SPDX-License-Identifier: Apache-2.0
// model_info: a model as a table: layers, shapes, parameters, FLOPs, bytes, and which devices have a kernel for each.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/model_options.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/inputs.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_info -m squeezenet.tnnproto
  model_info -m net.tnnproto --shape data=1,3,320,320 --json net.json
Exit codes: 0 done, 2 bad usage or input.)";

struct Row {
  const Layer* layer;
  std::vector<Shape> outputs;
  std::string shapes;  // "?" for a dim that depends on open dims
  bool open = false;
  std::string params;
  double flops = 0;
  int64_t weight_bytes = 0;
  int64_t output_bytes = 0;
  std::vector<std::string> kernels;  // per device: the kernel, or "" when there is none
};

struct Info {
  std::shared_ptr<const Graph> graph;
  std::map<std::string, std::string> declared;   // of inputs that the file leaves open: "[N,3,?,?]"
  bool open = false;                             // some shape depends on dims that nobody gave
  std::map<std::string, GeneratedRange> ranges;  // of inputs that are generated
  std::vector<std::string> devices;
  std::vector<Row> rows;
};

// A blob's shape in the order of the model's axes.
Shape ModelShape(const Graph& graph, const std::string& blob, const Shape& shape) {
  const auto axes = graph.file_axes.find(blob);
  if (axes == graph.file_axes.end()) return shape;
  std::vector<int64_t> dims;
  for (const int axis : axes->second) dims.push_back(shape[axis]);
  return Shape(std::move(dims));
}

Row MakeRow(const Graph& graph, const Layer& layer, const BlobTable& blobs) {
  Row row;
  row.layer = &layer;
  for (const std::string& name : layer.outputs) {
    const BlobInfo& output = blobs.at(name);
    row.outputs.push_back(output.shape);
    row.shapes += (row.shapes.empty() ? "" : " ") + ModelShape(graph, name, output.shape).ToString();
    row.output_bytes += output.shape.NumElements() * static_cast<int64_t>(DTypeSize(output.dtype));
  }
  row.flops = CountOperations(layer, blobs);
  for (const auto& [slot, tensor] : layer.resources) row.weight_bytes += static_cast<int64_t>(tensor.bytes());
  for (const auto& [name, value] : ListParams(layer))
    row.params += fmt::format("{}{}={}", row.params.empty() ? "" : " ", name, value);
  return row;
}

// "[1,?,?]": a dim that two loads do not agree on is open.
std::string OpenText(const Shape& a, const Shape& b) {
  std::string text;
  for (int i = 0; i < a.rank(); ++i) text += (i == 0 ? "" : ",") + (a[i] == b[i] ? std::to_string(a[i]) : "?");
  return fmt::format("[{}]", text);
}

// Which shapes depend on open dims: those that are others when the model is loaded at its smallest sizes.
Status MarkOpen(const ModelOptions& options, Info* info) {
  PLUMB_ASSIGN_OR_RETURN(const auto other, options.Load({}, OpenDims::kSmallest));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*other));
  for (Row& row : info->rows) {
    row.shapes.clear();
    for (size_t i = 0; i < row.outputs.size(); ++i) {
      const auto it = blobs.find(row.layer->outputs[i]);
      const bool same_rank = it != blobs.end() && it->second.shape.rank() == row.outputs[i].rank();
      row.open = row.open || !same_rank || it->second.shape != row.outputs[i];
      row.shapes += (row.shapes.empty() ? "" : " ") + (same_rank ? OpenText(row.outputs[i], it->second.shape) : "?");
    }
    info->open = info->open || row.open;
  }
  return Status::Ok();
}

// All that are present; else those that -d names, which must be.
Result<std::vector<std::string>> DevicesToShow(const std::string& wanted) {
  std::vector<std::string> names;
  if (!wanted.empty()) {
    PLUMB_ASSIGN_OR_RETURN(names, ParseDevices(wanted));
    for (const std::string& name : names) PLUMB_RETURN_IF_ERROR(OpenDevice(name).status());
    return names;
  }
  for (const DeviceInfo& device : ListDevices()) {
    if (device.present) names.push_back(device.name);
  }
  return names;
}

Result<Info> Collect(const ModelOptions& options, const std::vector<std::string>& devices) {
  Info info;
  PLUMB_ASSIGN_OR_RETURN(info.graph, options.Load({}, OpenDims::kUsual));
  PLUMB_ASSIGN_OR_RETURN(info.declared, OpenInputs(options.Files(), options.signature));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*info.graph));
  info.ranges = GeneratedRanges(*info.graph, blobs);
  for (const Layer& layer : info.graph->layers) info.rows.push_back(MakeRow(*info.graph, layer, blobs));
  if (!info.declared.empty()) PLUMB_RETURN_IF_ERROR(MarkOpen(options, &info));
  for (const std::string& device : devices) {
    PLUMB_ASSIGN_OR_RETURN(const auto opened, OpenDevice(device));
    info.devices.push_back(device);
    const std::vector<LayerSupport> support = FindSupport(*info.graph, blobs, *opened);
    for (size_t i = 0; i < support.size(); ++i) info.rows[i].kernels.push_back(support[i].kernel);
  }
  return info;
}

std::string TypeOf(const Layer& layer) {
  return (layer.quantized ? "Quantized" : layer.dynamic_range_quantized ? "DynamicRangeQuantized" : "") + layer.type;
}

std::string DevicesOf(const Row& row, const Info& info) {
  std::string devices;
  size_t count = 0;
  for (size_t d = 0; d < info.devices.size(); ++d) {
    if (row.kernels[d].empty()) continue;
    devices += (devices.empty() ? "" : ",") + info.devices[d];
    ++count;
  }
  if (devices.empty()) return "none";
  return count == info.devices.size() && count > 1 ? "all" : devices;
}

std::string Number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// Parameters stand below their layer where the width does not hold them beside it, with --full.
void PrintTable(const Info& info, bool full) {
  constexpr size_t kMaxName = 40, kIndent = 7;
  const size_t width = static_cast<size_t>(OutputWidth());
  TextTable table({{"index"},
                   {"layer", 0, false, true},
                   {"type", 4},
                   {"output", 5},
                   {"MFLOP", 0, true},
                   {"weights KB", 2, true},
                   {"output KB", 1, true},
                   {"devices"}});
  for (const Row& row : info.rows) {
    const std::string below =
        full && !row.params.empty()
            ? fmt::format("       {}\n", Wrapped(PrintableLine(row.params), width, kIndent, kIndent))
            : "";
    table.Add({{Number("%05.0f", row.layer->index)},
               {CutFront(row.layer->name, kMaxName)},
               {TypeOf(*row.layer)},
               {CutFront(row.shapes, kMaxName)},
               {row.open ? "?" : Number("%.2f", row.flops / 1e6)},
               {Number("%.1f", static_cast<double>(row.weight_bytes) / 1e3)},
               {row.open ? "?" : Number("%.1f", static_cast<double>(row.output_bytes) / 1e3)},
               {DevicesOf(row, info)}},
              below);
  }
  PrintText(table.Format(width));
}

// The layers of one type.
struct TypeSum {
  std::string type;
  int layers = 0;
  double flops = 0;
  int64_t weight_bytes = 0;
  bool open = false;
  std::map<std::string, int> without;  // device -> layers that it has no kernel for
};

// The most expensive type first, then the most frequent.
std::vector<TypeSum> SumByType(const Info& info) {
  std::map<std::string, TypeSum> by_type;
  for (const Row& row : info.rows) {
    TypeSum& sum = by_type[TypeOf(*row.layer)];
    sum.type = TypeOf(*row.layer);
    ++sum.layers;
    sum.flops += row.flops;
    sum.weight_bytes += row.weight_bytes;
    sum.open = sum.open || row.open;
    for (size_t d = 0; d < info.devices.size(); ++d) {
      if (row.kernels[d].empty()) ++sum.without[info.devices[d]];
    }
  }
  std::vector<TypeSum> sums;
  for (auto& [type, sum] : by_type) sums.push_back(std::move(sum));
  std::stable_sort(sums.begin(), sums.end(), [](const TypeSum& a, const TypeSum& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.layers > b.layers;
  });
  return sums;
}

void PrintTypes(const Info& info) {
  TextTable table(
      {{"type", 0, false, true}, {"layers"}, {"MFLOP", 0, true}, {"weights KB", 1, true}, {"no kernel on"}});
  for (const TypeSum& sum : SumByType(info)) {
    std::string without;
    for (const auto& [device, layers] : sum.without) {
      without += (without.empty() ? "" : ", ") + device;
      if (layers < sum.layers) without += fmt::format(" ({} of them)", layers);
    }
    table.Add({{sum.type},
               {std::to_string(sum.layers)},
               {sum.open ? "?" : Number("%.2f", sum.flops / 1e6)},
               {Number("%.1f", static_cast<double>(sum.weight_bytes) / 1e3)},
               {without.empty() ? "-" : without}});
  }
  PrintText("\n" + table.Format(static_cast<size_t>(OutputWidth())));
}

void PrintLayers(const Info& info, bool all, bool full) {
  constexpr size_t kFewLayers = 50;
  if (!all && !full && info.rows.size() > kFewLayers)
    return (void)Print("\n{} layers (--all shows each)\n", info.rows.size());
  Print("\n");
  PrintTable(info, full);
}

void PrintTotal(const Info& info) {
  double flops = 0;
  int64_t weights = 0, outputs = 0;
  for (const Row& row : info.rows) {
    flops += row.flops;
    weights += row.weight_bytes;
    outputs += row.output_bytes;
  }
  if (info.open) {
    Print("total  {} layers  weights {:.2f} MB; give the open shapes (--shape) for the cost\n", info.rows.size(),
          static_cast<double>(weights) / 1e6);
    return;
  }
  Print("total  {} layers  {:.3f} GFLOP (a multiply-add is 2)  weights {:.2f} MB  outputs of all layers {:.2f} MB\n",
        info.rows.size(), flops / 1e9, static_cast<double>(weights) / 1e6, static_cast<double>(outputs) / 1e6);
}

nlohmann::ordered_json SignaturesJson(const std::vector<ModelSignature>& signatures) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ModelSignature& from : signatures) {
    nlohmann::ordered_json signature = {{"name", from.name}, {"subgraph", from.graph}};
    for (const auto& [key, names] : {std::pair{"inputs", &from.inputs}, std::pair{"outputs", &from.outputs}}) {
      signature[key] = nlohmann::ordered_json::array();
      for (const auto& [name, tensor] : *names) signature[key].push_back({{"name", name}, {"tensor", tensor}});
    }
    list.push_back(std::move(signature));
  }
  return list;
}

nlohmann::ordered_json TensorsJson(const std::vector<ModelTensor>& tensors) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ModelTensor& tensor : tensors) {
    json.push_back({{"graph", tensor.graph},
                    {"index", tensor.index},
                    {"name", tensor.name},
                    {"type", tensor.type},
                    {"shape", tensor.shape},
                    {"scale", tensor.scale},
                    {"zero_point", tensor.zero_point},
                    {"axis", tensor.axis},
                    {"buffer", tensor.buffer},
                    {"bytes", tensor.bytes}});
  }
  return json;
}

std::string ToJson(const Info& info) {
  nlohmann::ordered_json json;
  json["format"] = "plumb-model-info";
  json["version"] = 1;
  json["model"] = info.graph->source;
  json["inputs"] = nlohmann::ordered_json::array();
  for (const GraphInput& input : info.graph->inputs) {
    json["inputs"].push_back({{"name", input.name},
                              {"dtype", DTypeName(info.graph->ModelDType(input.name, input.dtype))},
                              {"shape", input.shape.dims()}});
    const auto declared = info.declared.find(input.name);
    if (declared != info.declared.end()) json["inputs"].back()["declared"] = declared->second;
    const GeneratedRange& range = info.ranges.at(input.name);
    json["inputs"].back()["range"] = {{"lo", range.lo},         {"hi", range.hi},
                                      {"whole", range.whole},   {"ascending", range.ascending},
                                      {"needed", range.needed}, {"why", range.why}};
  }
  for (const auto& [name, value] : info.graph->chosen_values)
    json["chosen"][name] = std::vector<int64_t>(value.data<int64_t>(), value.data<int64_t>() + value.NumElements());
  json["outputs"] = info.graph->outputs;
  json["layers"] = nlohmann::ordered_json::array();
  for (const Row& row : info.rows) {
    nlohmann::ordered_json layer;
    layer["index"] = row.layer->index;
    layer["name"] = row.layer->name;
    layer["type"] = TypeOf(*row.layer);
    layer["inputs"] = row.layer->inputs;
    layer["outputs"] = row.layer->outputs;
    layer["shapes"] = row.shapes;
    for (const auto& [name, value] : ListParams(*row.layer)) layer["parameters"][name] = value;
    layer["flops"] = row.open ? nlohmann::ordered_json() : nlohmann::ordered_json(row.flops);
    layer["weight_bytes"] = row.weight_bytes;
    layer["output_bytes"] = row.open ? nlohmann::ordered_json() : nlohmann::ordered_json(row.output_bytes);
    for (size_t d = 0; d < info.devices.size(); ++d) layer["kernels"][info.devices[d]] = row.kernels[d];
    json["layers"].push_back(std::move(layer));
  }
  if (const auto tensors = ModelTensors(info.graph->source); tensors.ok()) json["tensors"] = TensorsJson(*tensors);
  if (const auto signatures = ModelSignatures(info.graph->source); signatures.ok())
    json["signatures"] = SignaturesJson(*signatures);
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// "image (serving_default_image:0), ..."
std::string SignedNames(const std::vector<std::pair<std::string, std::string>>& names) {
  std::string text;
  for (const auto& [name, tensor] : names)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", Printable(name), Printable(tensor));
  return text.empty() ? "nothing" : text;
}

void PrintSignatures(const std::string& path) {
  const auto signatures = ModelSignatures(path);
  if (!signatures.ok()) return;
  for (const ModelSignature& signature : *signatures) {
    Print("signature {} of subgraph {}: {} -> {}\n", Printable(signature.name), signature.graph,
          SignedNames(signature.inputs), SignedNames(signature.outputs));
  }
}

void PrintHead(const ModelOptions& options, const Info& info) {
  Print("model   {}, weights {}\n", info.graph->source, options.DescribeWeights(*info.graph));
  for (const GraphInput& input : info.graph->inputs) {
    const auto declared = info.declared.find(input.name);
    const std::string open = declared == info.declared.end() ? "" : declared->second + ", here ";
    Print("input   {} {} {}{}\n", Printable(input.name), DTypeName(info.graph->ModelDType(input.name, input.dtype)),
          open, input.shape.ToString());
  }
  for (const std::string& line : options.constants.Lines()) Print("input   {}\n", PrintableLine(line));
  std::string devices;
  for (const std::string& device : info.devices) devices += (devices.empty() ? "" : ", ") + device;
  if (!devices.empty()) Print("devices {}\n", devices);
  for (const std::string& output : info.graph->outputs) Print("output  {}\n", Printable(output));
  PrintSignatures(info.graph->source);
}

// "0.0078125, -1", or of several scales the first and how many there are.
std::string GridText(const ModelTensor& tensor) {
  if (tensor.scale.empty()) return "-";
  const std::string first = fmt::format("{:.9g}, {}", tensor.scale[0], tensor.zero_point[0]);
  if (tensor.scale.size() == 1) return first;
  return fmt::format("{} ... ({} along axis {})", first, tensor.scale.size(), tensor.axis);
}

Status PrintTensors(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ModelTensor> tensors, ModelTensors(path));
  const bool several = !tensors.empty() && tensors.back().graph > 0;
  TextTable table({{"index"}, {"tensor", 0, false, true}, {"type"}, {"shape"}, {"scale, zero point"}, {"buffer"}});
  for (const ModelTensor& tensor : tensors) {
    const std::string index = several ? fmt::format("{}:{}", tensor.graph, tensor.index) : std::to_string(tensor.index);
    const std::string held = tensor.bytes == 0 ? "" : fmt::format(" ({} bytes)", tensor.bytes);
    table.Add({{index},
               {PrintableLine(tensor.name)},
               {tensor.type},
               {Shape(tensor.shape).ToString()},
               {GridText(tensor)},
               {fmt::format("{}{}", tensor.buffer, held)}});
  }
  PrintText("\n" + table.Format(static_cast<size_t>(OutputWidth())));
  return Status::Ok();
}

int Main(int argc, char** argv) {
  ModelOptions options;
  options.skip_weights = true;
  options.keep_quantized = true;
  std::string json, wanted;
  bool full = false, all = false, tensors = false;
  CommandLine command_line(
      "model_info", "Shows a model's layers, shapes, parameters, cost, and which devices can run each.", kExamples);
  options.AddTo(&command_line);
  OutputOptions output;
  output.AddTo(&command_line, "only the last line", "also the notes of loading, on stderr");
  command_line.Add("--device", &wanted, "show what these can run; default: every device present");
  command_line.Flag("--full", &full, "each layer's parameters below it");
  command_line.Flag("--all", &all, "every layer, also of a model of more than 50");
  command_line.Flag("--tensors", &tensors, "of a .tflite: each tensor's index, name, type, shape, scale and buffer");
  command_line.Add("--json", &json, "write the same as JSON");
  command_line.Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
                      {"--device", "what these can run; default: every device present"},
                      {"--shape", "NAME=1,3,224,224, where the model leaves it open"},
                      {"--all", "every layer, also of a model of more than 50"},
                      {"--full", "each layer's parameters below it"},
                      {"--json", "write the same as JSON"}});
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const auto devices = DevicesToShow(wanted);
  if (!devices.ok()) return FailOnDevice(devices.status());
  const auto info = Collect(options, *devices);
  if (!info.ok()) return Fail(info.status());
  PrintNotes(output, info->graph->notes);
  if (!output.quiet) PrintHead(options, *info);
  if (!output.quiet) PrintTypes(*info);
  if (!output.quiet) PrintLayers(*info, all, full);
  if (tensors && !output.quiet) {
    const Status printed = PrintTensors(options.Files().structure);
    if (!printed.ok()) return Fail(printed);
  }
  PrintTotal(*info);
  if (json.empty()) return kExitOk;
  const Status written = WriteOutput(json, ToJson(*info));
  return written.ok() ? kExitOk : Fail(written);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
