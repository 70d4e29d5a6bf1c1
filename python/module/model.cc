// SPDX-License-Identifier: Apache-2.0
// Models: load, what is in them, save; devices of this machine.
#include "plumb/model.h"

#include <memory>

#include "bind.h"
#include "plumb/align.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"

namespace plumb::python {
namespace {

nb::dict Describe(const Layer& layer) {
  nb::dict dict;
  dict["index"] = layer.index;
  dict["name"] = layer.name;
  dict["type"] = layer.type;
  dict["inputs"] = layer.inputs;
  dict["outputs"] = layer.outputs;
  dict["nodes"] = layer.nodes;
  nb::dict parameters;
  for (const auto& [name, value] : ListParams(layer)) parameters[nb::cast(name)] = value;
  dict["parameters"] = parameters;
  dict["weights"] = ToArrays(layer.resources);
  return dict;
}

// Sentences that quote names of the file.
std::vector<std::string> Shown(std::vector<std::string> sentences) {
  for (std::string& sentence : sentences) sentence = PrintableMessage(sentence);
  return sentences;
}

nb::list DescribeDevices() {
  nb::list list;
  const auto devices = Compute([]() -> Result<std::vector<DeviceInfo>> { return ListDevices(); });
  for (const DeviceInfo& info : devices) {
    nb::dict dict;
    dict["name"] = info.name;
    dict["present"] = info.present;
    dict["description"] = info.description;
    dict["adapters"] = info.adapters;
    list.append(dict);
  }
  return list;
}

}  // namespace

LoadOptions ToLoadOptions(const ModelArguments& arguments) {
  LoadOptions load;
  load.seed = arguments.seed;
  load.signature = arguments.signature;
  load.input_shapes = ToShapes(arguments.shapes);
  load.open_dims = arguments.ask_shapes ? OpenDims::kRefuse : OpenDims::kUsual;
  load.input_values = ToTensors(arguments.constants);
  load.evaluator = ReferenceEvaluator();
  return load;
}

nb::list FileTensors(const std::string& path) {
  nb::list list;
  for (const ModelTensor& tensor : ValueOf(ModelTensors(path))) {
    nb::dict dict;
    dict["graph"] = tensor.graph;
    dict["index"] = tensor.index;
    dict["name"] = tensor.name;
    dict["type"] = tensor.type;
    dict["shape"] = nb::tuple(nb::cast(tensor.shape));
    dict["scale"] = tensor.scale;
    dict["zero_point"] = tensor.zero_point;
    dict["axis"] = tensor.axis;
    dict["buffer"] = tensor.buffer;
    dict["bytes"] = tensor.bytes;
    list.append(dict);
  }
  return list;
}

nb::list FileSignatures(const std::string& path) {
  nb::list list;
  for (const ModelSignature& signature : ValueOf(ModelSignatures(path))) {
    nb::dict dict, inputs, outputs;
    dict["name"] = signature.name;
    dict["graph"] = signature.graph;
    for (const auto& [name, tensor] : signature.inputs) inputs[nb::cast(name)] = tensor;
    for (const auto& [name, tensor] : signature.outputs) outputs[nb::cast(name)] = tensor;
    dict["inputs"] = inputs;
    dict["outputs"] = outputs;
    list.append(dict);
  }
  return list;
}

void BindModel(nb::module_& m) {
  using Shared = std::shared_ptr<const Graph>;
  nb::class_<ModelArguments>(m, "ModelArguments")
      .def(nb::init<>())
      .def_rw("structure", &ModelArguments::structure)
      .def_rw("weights", &ModelArguments::weights)
      .def_rw("shapes", &ModelArguments::shapes)
      .def_rw("ask_shapes", &ModelArguments::ask_shapes)
      .def_rw("constants", &ModelArguments::constants)
      .def_rw("seed", &ModelArguments::seed)
      .def_rw("signature", &ModelArguments::signature);
  nb::class_<ModelHandle>(m, "Graph")
      .def(
          "inputs",
          [](const ModelHandle& model) {
            nb::dict inputs;
            for (const GraphInput& input : model.graph->inputs) {
              inputs[nb::cast(input.name)] =
                  nb::make_tuple(DTypeName(model.graph->ModelDType(input.name, input.dtype)), input.shape.dims());
            }
            return inputs;
          },
          nb::sig("def inputs(self) -> dict[str, tuple[str, list[int]]]"))
      .def("outputs", [](const ModelHandle& model) { return model.graph->outputs; })
      .def("notes", [](const ModelHandle& model) { return Shown(model.graph->notes); })
      .def("weights_generated", [](const ModelHandle& model) { return model.graph->weights_generated; })
      .def("hazards", [](const ModelHandle& model) { return Shown(WeightHazards(*model.graph)); })
      .def(
          "layers",
          [](const ModelHandle& model) {
            nb::list layers;
            for (const Layer& layer : model.graph->layers) layers.append(Describe(layer));
            return layers;
          },
          nb::sig("def layers(self) -> list[dict[str, typing.Any]]"))
      .def("save", [](const ModelHandle& model, const std::string& prefix, int version) {
        SaveOptions options;
        options.tnnmodel_version = version;
        Compute([&]() -> Status {
          // What runs of TNN's quantised layers is no longer what TNN reads.
          const bool is_tnn = FindModelFormat(model.files.structure)->holds == ModelFormat::kStructure;
          if (!is_tnn) return SaveModel(*model.graph, prefix, options);
          LoadOptions load = model.load;
          load.keep_quantized = true;
          PLUMB_ASSIGN_OR_RETURN(const Graph graph, LoadModel(model.files, load));
          return SaveModel(graph, prefix, options);
        });
      });
  m.def("load", [](const ModelArguments& arguments, const std::map<std::string, std::vector<int64_t>>& open_shapes,
                   bool smallest) {
    const RunningCall call;
    LoadOptions load = ToLoadOptions(arguments);
    load.open_shapes = ToShapes(open_shapes);
    if (smallest) load.open_dims = OpenDims::kSmallest;
    const ModelFiles files{arguments.structure, arguments.weights};
    Shared graph = Compute([&]() -> Result<Shared> {
      PLUMB_ASSIGN_OR_RETURN(Graph loaded, LoadModel(files, load));
      return std::make_shared<const Graph>(std::move(loaded));
    });
    load.input_values.clear();  // constants are in the graph, and a tnnproto has none
    return ModelHandle{std::move(graph), files, std::move(load)};
  });
  m.def("file_tensors", &FileTensors, nb::sig("def file_tensors(path: str) -> list[dict[str, typing.Any]]"));
  m.def("file_signatures", &FileSignatures, nb::sig("def file_signatures(path: str) -> list[dict[str, typing.Any]]"));
  m.def("devices", &DescribeDevices, nb::sig("def devices() -> list[dict[str, typing.Any]]"));
  m.def("version", &Version);
  m.def("set_runtime", [](int threads, const std::string& max_isa) { ThrowIfError(SetRuntime({threads, max_isa})); });
  m.def(
      "runtime",
      [] {
        const RuntimeInfo info = GetRuntime();
        nb::dict dict;
        dict["cpus"] = info.num_cpus;
        dict["threads"] = info.num_threads;
        dict["isa"] = info.isa;
        dict["cpu_isa"] = info.cpu_isa;
        return dict;
      },
      nb::sig("def runtime() -> dict[str, int | str]"));
}

}  // namespace plumb::python
