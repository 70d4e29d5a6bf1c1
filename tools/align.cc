// SPDX-License-Identifier: Apache-2.0
#include "align.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/model_options.h"
#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

std::string Text(const AlignedTensor& tensor, const std::string& framework) {
  if (!tensor.problem.empty()) return tensor.problem;
  const DiffMetrics& d = tensor.difference;
  if (d.max_abs == 0) return "the same bits or values";
  return fmt::format("largest difference {:.3g} ({:.2g} of the largest value) at #{}: {:.9g}, {} has {:.9g}", d.max_abs,
                     tensor.relative, d.worst, d.worst_a, framework, d.worst_b);
}

std::string Text(const AlignedLayer& layer, const std::string& framework) {
  std::string nodes;
  for (const std::string& node : layer.nodes) {
    if (node != layer.name) nodes += (nodes.empty() ? ", node " : ", ") + node;
  }
  return PrintableLine(fmt::format("layer {} '{}' ({}, {}{}) tensor '{}' {}", layer.index, layer.name, layer.type,
                                   layer.kernel, nodes, layer.tensor.name, Text(layer.tensor, framework)));
}

void PrintDevice(const AlignedDevice& device, const std::string& framework, bool all) {
  for (const AlignedTensor& output : device.outputs) {
    Print("align   {:<6} output '{}' {}: {}\n", device.device, Printable(output.name), output.shape.ToString(),
          Text(output, framework));
  }
  for (const AlignedLayer& layer : device.layers) {
    if (all) Print("  {} {}\n", layer.tensor.equal ? "equal  " : "DIFFERS", Text(layer, framework));
  }
  if (device.layers.empty() && device.unpaired == 0) return;
  Print("  layer by layer: {} tensors compared, {} have no tensor of their name in {}\n", device.layers.size(),
        device.unpaired, framework);
  if (device.first_different < 0) return;
  Print("  the first operator that differs: {}\n",
        Text(device.layers[static_cast<size_t>(device.first_different)], framework));
}

// Of integers: what a whole run cannot show, for each runtime rounds in its own way.
void PrintSteps(const AlignReport& report) {
  for (const RunReport& run : report.steps) {
    const bool original = &run == &report.steps.front();
    const std::string whose =
        original ? report.framework + "'s tensors, each step on its own inputs" : run.device + ", beside the reference";
    Print("align   step by step: {}: {} aligned, {} grey, {} wrong of {} steps\n", whose, run.Count(Verdict::kAligned),
          run.Count(Verdict::kGrey), run.Count(Verdict::kWrong), run.layers.size());
    for (const std::string& note : run.notes) {
      if (note.rfind("quantised tensors", 0) == 0 || note.rfind("computed as", 0) == 0)
        Print("  {}\n", PrintableLine(note));
    }
    if (run.first_wrong >= 0) {
      const LayerReport& layer = run.layers[static_cast<size_t>(run.first_wrong)];
      Print("  the first step that is wrong: layer {} '{}': {}\n", layer.step.index, Printable(layer.step.name),
            PrintableLine(layer.reason));
    }
  }
}

// What the last line rests on.
struct Proved {
  int generated = 0, given = 0;  // inputs
  size_t outputs = 0, layers = 0;
  int64_t values = 0;  // of the outputs, per input and device
  double worst = 0;    // the largest difference of an output, as a part of its largest value
  size_t steps = 0;    // that were judged one by one

  void Add(const AlignReport& report, bool is_generated) {
    ++(is_generated ? generated : given);
    const AlignedDevice& first = report.devices.front();
    outputs = first.outputs.size();
    layers = std::max(layers, first.layers.size());
    if (!report.steps.empty()) steps = std::max(steps, report.steps.front().layers.size());
    values = 0;
    for (const AlignedTensor& output : first.outputs) values += output.shape.NumElements();
    for (const AlignedDevice& device : report.devices) {
      for (const AlignedTensor& output : device.outputs) worst = std::max(worst, output.relative);
    }
  }

  std::string Text(uint64_t seed) const {
    std::string on = given > 0        ? "the input given"
                     : generated == 1 ? fmt::format("1 generated input (seed {})", seed)
                                      : fmt::format("{} generated inputs (seeds {} to {})", generated, seed,
                                                    seed + static_cast<uint64_t>(generated) - 1);
    const std::string tensors = steps > 0     ? fmt::format(" and {} steps, one by one,", steps)
                                : layers == 0 ? ""
                                              : fmt::format(" and {} tensors of layers", layers);
    return fmt::format(
        "{} output{} ({} values){} on {}, the largest difference of an output {:.1e} of its largest value", outputs,
        outputs == 1 ? "" : "s", values, tensors, on, worst);
  }
};

}  // namespace

void AlignArguments::AddTo(CommandLine* c) {
  c->Group("Alignment");
  c->Choice("--align", &mode, {"outputs", "all"},
            "run the original in ONNX Runtime or LiteRT and the converted files on NAIVE and -d, and compare the "
            "outputs; all: every layer");
  c->Add("--device", &devices, "devices to align beside NAIVE: X86,OPENCL or ALL");
  c->Add("--align-inputs", &num_inputs, "how many generated inputs are tried (seeds --seed, --seed + 1, ...)");
  c->Add("--align-tolerance", &tolerance,
         "largest difference that counts as equal, as a part of the tensor's largest value");
  input.AddTo(c);
  for (const char* of_alignment : {"--device", "--align-inputs", "--align-tolerance", "--input", "--input-range",
                                   "--bias", "--scale", "--channel-order"}) {
    c->OnlyWith(of_alignment, {"--align"});
  }
  c->NotWith("--align-inputs", {"--input"}, "that is the only input");
}

Result<int> AlignAndPrint(const AlignArguments& o, const std::string& original, const Graph& imported,
                          const std::string& proto, uint64_t seed, const ConstantOptions& constants) {
  if (o.num_inputs < 1)
    return Status::InvalidArgument("--align-inputs: expected 1 or more, found " + std::to_string(o.num_inputs));
  std::vector<std::string> devices = {"NAIVE"};
  PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> more, ParseDevices(o.devices));
  for (const std::string& device : more) {
    if (device != "NAIVE") devices.push_back(device);
  }
  AlignOptions options;
  options.every_layer = o.mode == "all";
  options.tolerance = o.tolerance;
  GoldenOptions golden;
  PLUMB_ASSIGN_OR_RETURN(golden.constants, constants.Read());
  golden.signature = o.signature;
  PLUMB_ASSIGN_OR_RETURN(Graph loaded, LoadModel(proto));
  loaded.model_dtypes = imported.model_dtypes;  // a tnnproto holds neither
  loaded.file_axes = imported.file_axes;
  const auto graph = std::make_shared<const Graph>(std::move(loaded));
  bool equal = true;
  Proved proved;
  std::string path, framework;
  for (const std::string& device : devices) path += (path.empty() ? "" : ", ") + device;
  for (int k = 0; k < (o.input.files.empty() ? o.num_inputs : 1); ++k) {
    PLUMB_ASSIGN_OR_RETURN(const InputOptions input, o.input.Read(seed + static_cast<uint64_t>(k)));
    PLUMB_ASSIGN_OR_RETURN(const NetworkInputs inputs, PrepareInputs(input, *graph));
    PLUMB_ASSIGN_OR_RETURN(const AlignReport report, Align(original, graph, devices, inputs.values, options, golden));
    for (const std::string& line : inputs.lines) Print("align   input {}\n", PrintableLine(line));
    for (const std::string& line : constants.Lines()) Print("align   input {}\n", PrintableLine(line));
    if (k == 0)
      Print("align   original: {}; tolerance {:g} of a tensor's largest value\n", report.original, o.tolerance);
    for (const AlignedDevice& device : report.devices) PrintDevice(device, report.framework, options.every_layer);
    PrintSteps(report);
    equal = equal && report.equal;
    framework = report.framework;
    proved.Add(report, inputs.generated);
  }
  Print("{}: {} in {} and {} with its tnnmodel on {}: {}\n", equal ? "proved equal" : "NOT equal", original, framework,
        proto, path, proved.Text(seed));
  return equal ? kExitOk : kExitMisaligned;
}

}  // namespace plumb
