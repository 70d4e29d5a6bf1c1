// SPDX-License-Identifier: Apache-2.0
// Comparing dumps, and proving conversions.
#include "bind.h"
#include "common/option_words.h"
#include "plumb/align.h"
#include "plumb/diff.h"
#include "plumb/inputs.h"

namespace plumb::python {
namespace {

struct DiffArguments {
  std::string rule = "default";
  std::optional<double> atol, rtol;
  std::map<std::string, std::string> names;
  bool pair_by_order = false;
};

DiffReport Diff(const std::string& a, const std::string& b, const DiffArguments& arguments) {
  DiffOptions options;
  options.rule.kind = ValueOf(ParseRule(arguments.rule));
  options.rule.atol = arguments.atol;
  options.rule.rtol = arguments.rtol;
  ThrowIfError(options.rule.CheckTolerances());
  options.names = arguments.names;
  options.pair_by_order = arguments.pair_by_order;
  return Compute([&] { return DiffDumps(a, b, options); });
}

nb::dict Describe(const AlignedTensor& tensor) {
  nb::dict dict;
  dict["name"] = tensor.name;
  dict["shape"] = tensor.shape.dims();
  dict["equal"] = tensor.equal;
  dict["problem"] = tensor.problem;
  dict["max_abs"] = tensor.difference.max_abs;
  dict["relative"] = tensor.relative;
  return dict;
}

nb::dict Describe(const AlignedDevice& device) {
  nb::dict dict;
  dict["device"] = device.device;
  dict["equal"] = device.equal;
  dict["unpaired"] = device.unpaired;
  dict["first_different"] = device.first_different;
  nb::list outputs, layers;
  for (const AlignedTensor& tensor : device.outputs) outputs.append(Describe(tensor));
  for (const AlignedLayer& layer : device.layers) {
    nb::dict one = Describe(layer.tensor);
    one["layer"] = layer.name;
    one["index"] = layer.index;
    one["type"] = layer.type;
    one["kernel"] = layer.kernel;
    one["nodes"] = layer.nodes;
    layers.append(one);
  }
  dict["outputs"] = outputs;
  dict["layers"] = layers;
  return dict;
}

// Whose steps were judged one by one, and what they are.
nb::dict DescribeSteps(const RunReport& run) {
  nb::dict dict;
  dict["device"] = run.device;
  dict["aligned"] = run.Count(Verdict::kAligned);
  dict["grey"] = run.Count(Verdict::kGrey);
  dict["wrong"] = run.Count(Verdict::kWrong);
  dict["first_wrong"] = run.first_wrong < 0 ? "" : run.layers[static_cast<size_t>(run.first_wrong)].step.name;
  return dict;
}

// (description of the original, devices, whether it is equal, steps)
nb::tuple AlignModels(const std::string& original, const ModelHandle& converted,
                      const std::vector<std::string>& devices, const Arrays& arrays, uint64_t seed, double tolerance,
                      bool every_layer, const std::string& python) {
  const RunningCall call;
  InputOptions inputs;
  inputs.values = ToTensors(arrays);
  inputs.seed = seed;
  AlignOptions options;
  options.tolerance = tolerance;
  options.every_layer = every_layer;
  GoldenOptions golden;
  golden.python = python;
  const AlignReport report = Compute([&]() -> Result<AlignReport> {
    PLUMB_ASSIGN_OR_RETURN(const NetworkInputs ready, PrepareInputs(inputs, *converted.graph));
    return Align(original, converted.graph, devices, ready.values, options, golden);
  });
  nb::list list;
  for (const AlignedDevice& device : report.devices) list.append(Describe(device));
  nb::list steps;
  for (const RunReport& run : report.steps) steps.append(DescribeSteps(run));
  return nb::make_tuple(report.original, list, report.equal, steps);
}

}  // namespace

void BindCompare(nb::module_& m) {
  nb::class_<DiffArguments>(m, "DiffArguments")
      .def(nb::init<>())
      .def_rw("rule", &DiffArguments::rule)
      .def_rw("atol", &DiffArguments::atol, nb::arg().none())
      .def_rw("rtol", &DiffArguments::rtol, nb::arg().none())
      .def_rw("names", &DiffArguments::names)
      .def_rw("pair_by_order", &DiffArguments::pair_by_order);
  nb::class_<DiffReport>(m, "DiffReport")
      .def("json", [](const DiffReport& report) { return FormatDiffJson(report); })
      .def("csv", [](const DiffReport& report) { return FormatDiffCsv(report); })
      .def("summary", [](const DiffReport& report) { return FormatDiffSummary(report); })
      .def("text", [](const DiffReport& report, bool color, bool all, size_t width) {
        return InOptionWords(FormatDiffText(report, {color, all, width}));
      });
  m.def("diff", &Diff);
  m.def("align", &AlignModels,
        nb::sig("def align(original: str, converted: Graph, devices: collections.abc.Sequence[str], "
                "arrays: collections.abc.Mapping[str, tuple[object, bool]], seed: int, tolerance: float, "
                "every_layer: bool, python: str, /) -> tuple[str, list[dict[str, typing.Any]], bool, list[dict[str, "
                "typing.Any]]]"));
}

}  // namespace plumb::python
