// SPDX-License-Identifier: Apache-2.0
// One network on many samples.
#include "plumb/tool/many.h"

#include "bind.h"

namespace plumb::python {
namespace {

struct ManyArguments {
  std::string device;
  DeviceArguments options;
  std::string path;                                     // of samples in files; or:
  std::vector<std::pair<std::string, Arrays>> samples;  // by name
  std::string results, model, subject, golden;
};

ManyOptions ToOptions(const ManyArguments& a) {
  ManyOptions options;
  options.device = a.device;
  options.network = ToNetworkOptions(a.options);
  options.results = a.results;
  options.subject.path = a.subject;
  options.golden.path = a.golden;
  options.model = a.model;
  return options;
}

ManyReport CheckSamples(const ModelHandle& model, const ManyArguments& a) {
  const RunningCall call;
  std::vector<Sample> samples;
  for (const auto& [name, arrays] : a.samples) samples.push_back({name, {}, ToTensors(arrays), {}});
  const ManyOptions options = ToOptions(a);
  return Compute([&]() -> Result<ManyReport> {
    if (!a.path.empty()) {
      PLUMB_ASSIGN_OR_RETURN(samples, ListSamples(a.path, SampleBatch(*model.graph)));
    }
    return CheckMany(model.graph, samples, options);
  });
}

// The inputs of a sample that lies in files, as names of files and arrays.
nb::tuple InputsOf(const std::string& path, const std::string& name, int64_t batch) {
  for (Sample& sample : ValueOf(ListSamples(path, batch))) {
    if (sample.name == name) return nb::make_tuple(sample.files, ToArrays(ValueOf(sample.Values())));
  }
  throw StatusError{Status::NotFound("'" + path + "' has no sample '" + name + "' any more")};
}

std::vector<std::string> NamesOf(const ModelHandle& model, const std::string& path) {
  std::vector<std::string> names;
  for (Sample& sample : ValueOf(ListSamples(path, SampleBatch(*model.graph)))) names.push_back(std::move(sample.name));
  return names;
}

// The path, or the arrays, that a subject or golden has for a sample.
nb::tuple TensorsOf(const ModelHandle& model, const std::string& path, const std::string& name) {
  const TensorSource source = ValueOf(TensorsOfSample({path, {}}, name, SampleBatch(*model.graph)));
  std::map<std::string, Tensor> tensors;
  for (const NamedTensor& tensor : source.tensors) tensors[tensor.name] = tensor.tensor;
  return nb::make_tuple(source.path, ToArrays(tensors));
}

}  // namespace

void BindMany(nb::module_& m) {
  nb::class_<ManyArguments>(m, "ManyArguments")
      .def(nb::init<>())
      .def_rw("device", &ManyArguments::device)
      .def_rw("options", &ManyArguments::options)
      .def_rw("path", &ManyArguments::path)
      .def_rw("samples", &ManyArguments::samples)
      .def_rw("results", &ManyArguments::results)
      .def_rw("model", &ManyArguments::model)
      .def_rw("subject", &ManyArguments::subject)
      .def_rw("golden", &ManyArguments::golden);
  nb::class_<SampleResult>(m, "SampleResult")
      .def_ro("name", &SampleResult::name)
      .def_ro("error", &SampleResult::error)
      .def_ro("changed", &SampleResult::changed)
      .def_ro("output", &SampleResult::output)
      .def_ro("relative", &SampleResult::relative)
      .def_ro("top1_device", &SampleResult::top1_device)
      .def_ro("top1_reference", &SampleResult::top1_reference)
      .def_ro("margin", &SampleResult::margin)
      .def_ro("moved", &SampleResult::moved);
  nb::class_<ManyReport>(m, "ManyReport")
      .def_ro("samples", &ManyReport::samples)
      .def_ro("ran", &ManyReport::ran)
      .def_ro("agreed", &ManyReport::agreed)
      .def_ro("failed", &ManyReport::failed)
      .def_ro("kept", &ManyReport::kept)
      .def_ro("low", &ManyReport::low)
      .def_ro("high", &ManyReport::high)
      .def("text", [](const ManyReport& report, const ManyArguments& a, int most) {
        return FormatMany(report, SidesOf(ToOptions(a)), most);
      });
  m.def("check_many", &CheckSamples);
  m.def("sample_names", &NamesOf);
  m.def("tensors_of_sample", &TensorsOf,
        nb::sig("def tensors_of_sample(model: Graph, path: str, name: str) -> "
                "tuple[str, dict[str, numpy.ndarray]]"));
  m.def("inputs_of_sample", &InputsOf,
        nb::sig("def inputs_of_sample(path: str, name: str, batch: int) -> "
                "tuple[list[str], dict[str, numpy.ndarray]]"));
}

}  // namespace plumb::python
