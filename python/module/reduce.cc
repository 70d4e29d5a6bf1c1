// SPDX-License-Identifier: Apache-2.0
// The smallest model that shows a fault.
#include "plumb/tool/reduce.h"

#include "bind.h"

namespace plumb::python {
namespace {

struct ReduceArguments {
  ModelArguments model;
  std::string device, command, folder, show;
  DeviceArguments options;
  Arrays inputs;
  int max_cases = 3;
  double seconds = 60;
};

ReduceReport ReduceModel(const ReduceArguments& a) {
  const RunningCall call;
  SessionOptions session;
  session.load = ToLoadOptions(a.model);
  session.inputs.values = ToTensors(a.inputs);
  ReduceOptions options;
  options.device = a.device;
  options.network = ToNetworkOptions(a.options);
  options.command = a.command;
  options.folder = a.folder;
  options.show = a.show;
  options.max_cases = a.max_cases;
  options.seconds = a.seconds;
  return Compute([&] { return Reduce({a.model.structure, a.model.weights}, session, options); });
}

}  // namespace

void BindReduce(nb::module_& m) {
  nb::class_<ReduceArguments>(m, "ReduceArguments")
      .def(nb::init<>())
      .def_rw("model", &ReduceArguments::model)
      .def_rw("device", &ReduceArguments::device)
      .def_rw("command", &ReduceArguments::command)
      .def_rw("folder", &ReduceArguments::folder)
      .def_rw("show", &ReduceArguments::show)
      .def_rw("options", &ReduceArguments::options)
      .def_rw("inputs", &ReduceArguments::inputs)
      .def_rw("max_cases", &ReduceArguments::max_cases)
      .def_rw("seconds", &ReduceArguments::seconds);
  nb::class_<ReduceReport>(m, "ReduceReport")
      .def_ro("wrong_steps", &ReduceReport::wrong_steps)
      .def("lines", [](const ReduceReport& report) { return FormatReduceLines(report); })
      .def("text", [](const ReduceReport& report, size_t width) { return FormatReduceText(report, width); });
  m.def("reduce", &ReduceModel);
}

}  // namespace plumb::python
