// SPDX-License-Identifier: Apache-2.0
// Checks: devices, subjects and goldens judged; the result keeps the library's reports, which every form is made of.
#include <algorithm>

#include "bind.h"
#include "common/option_words.h"
#include "plumb/tool/baseline.h"
#include "plumb/tool/check_all.h"
#include "plumb/tool/printing.h"

namespace plumb::python {
namespace {

struct CheckArguments {
  ModelArguments model;
  DeviceArguments device;
  std::vector<std::string> devices;
  Arrays inputs;
  std::vector<std::string> files;
  bool has_range = false;
  double lo = 0, hi = 0;
  bool probe = false;
  std::string subject_path, golden_path, python;
  Arrays subject, golden;
  bool run_onnxruntime = false, run_litert = false;
  std::map<std::string, std::string> names;
  bool pair_by_order = false;
  std::string layout, arithmetic;
  std::vector<std::string> layers;
  double min_tested = 0.5;
  std::string expect = "any";
  bool pictures = false;
  std::string reproduce, golden_name, subject_name;
};

TensorSource ToSource(const std::string& path, const Arrays& arrays) {
  TensorSource source;
  source.path = path;
  for (auto& [name, tensor] : ToTensors(arrays)) source.tensors.push_back({name, tensor});
  return source;
}

SessionOptions ToSessionOptions(const CheckArguments& a) {
  SessionOptions options;
  options.load = ToLoadOptions(a.model);
  options.inputs.values = ToTensors(a.inputs);
  options.inputs.files = a.files;
  if (a.has_range) options.inputs.range = {a.lo, a.hi};
  options.inputs.seed = a.model.seed;
  options.inputs.exercise = a.probe;
  options.inputs.exercised_layers = a.layers;
  options.subject = ToSource(a.subject_path, a.subject);
  options.golden = ToSource(a.golden_path, a.golden);
  options.run_onnxruntime = a.run_onnxruntime;
  options.run_litert = a.run_litert;
  options.python = a.python;
  options.pairing.names = a.names;
  options.pairing.by_order = a.pair_by_order;
  options.pairing.layout = a.layout;
  if (!a.arithmetic.empty()) options.arithmetic = ValueOf(ParseArithmetic(a.arithmetic));
  options.checks_devices = !a.devices.empty();
  return options;
}

CheckResult Check(const CheckArguments& a) {
  const std::vector<std::string>& expected = Expectations();
  if (std::find(expected.begin(), expected.end(), a.expect) == expected.end())
    ThrowIfError(Status::InvalidArgument(UnknownWord("expect", a.expect, expected)));
  const RunningCall call;
  const SessionOptions options = ToSessionOptions(a);
  CheckPlan plan;
  plan.devices = a.devices;
  plan.network = ToNetworkOptions(a.device);
  plan.check.layers = a.layers;
  plan.check.min_tested = a.min_tested;
  plan.reproduce = a.reproduce;
  plan.hooks.described = [](CheckedModel* checked) {  // with the sizes that were chosen
    const std::string chosen = InOptionWords(ChosenOptions(*checked));
    if (!chosen.empty()) checked->reproduce += " " + chosen;
  };
  plan.reproduce_golden = "--golden " + a.golden_name;
  plan.reproduce_subject = "--subject " + a.subject_name;
  return Compute([&]() -> Result<CheckResult> {
    PLUMB_ASSIGN_OR_RETURN(const auto session, Session::Open(ModelFiles{a.model.structure, a.model.weights}, options));
    if (a.pictures) plan.check.picture_cells = PictureCells(session->graph()->layers.size());
    PLUMB_ASSIGN_OR_RETURN(CheckResult result, CheckAll(session.get(), plan));
    for (const CheckError& error : result.errors) return Status(error.code, error.message);
    // The report names commands: its words are model_check's. Those of a device's error are Python's (_errors.py).
    PutInOptionWords(&result.checked);
    result.checked.expect = a.expect;
    for (RunReport& run : result.runs) PutInOptionWords(&run);
    return result;
  });
}

const RunReport& RunOf(const CheckResult& result, size_t i) {
  if (i >= result.runs.size()) throw nb::index_error();
  return result.runs[i];
}

// [(name, the device's, the reference's or None)]
nb::list Outputs(const CheckResult& result, size_t run) {
  nb::list outputs;
  for (const OutputSummary& output : RunOf(result, run).outputs) {
    outputs.append(nb::make_tuple(output.name, ToArray(output.device), ToArray(output.reference)));
  }
  return outputs;
}

// [(device, code, message)]
nb::list Failures(const CheckResult& result) {
  nb::list failures;
  for (const AskedDevice& asked : result.devices) {
    if (asked.state != AskedDevice::State::kFailed) continue;
    failures.append(nb::make_tuple(asked.device, StatusCodeName(asked.code), asked.error));
  }
  return failures;
}

// [(a baseline's text, whether only some layers were judged)] of each run, for Baseline.merge, here or in another
// process.
nb::list Baselines(const CheckResult& result, const std::string& key) {
  nb::list found;
  for (const RunReport& run : result.runs) {
    Baseline one;
    one.Update(key, {run});
    found.append(nb::make_tuple(one.Text(), run.only_named_layers));
  }
  return found;
}

std::string Text(const CheckResult& result, size_t run, bool color, bool all, bool full, size_t width) {
  return InOptionWords(FormatText(result.checked, RunOf(result, run), {color, full, all, width}));
}

}  // namespace

void BindCheck(nb::module_& m) {
  nb::class_<CheckArguments>(m, "CheckArguments")
      .def(nb::init<>())
      .def_rw("model", &CheckArguments::model)
      .def_rw("device", &CheckArguments::device)
      .def_rw("devices", &CheckArguments::devices)
      .def_rw("inputs", &CheckArguments::inputs)
      .def_rw("files", &CheckArguments::files)
      .def("set_range",
           [](CheckArguments& a, double lo, double hi) {
             a.has_range = true;
             a.lo = lo;
             a.hi = hi;
           })
      .def_rw("probe", &CheckArguments::probe)
      .def_rw("subject_path", &CheckArguments::subject_path)
      .def_rw("golden_path", &CheckArguments::golden_path)
      .def_rw("python", &CheckArguments::python)
      .def_rw("subject", &CheckArguments::subject)
      .def_rw("golden", &CheckArguments::golden)
      .def_rw("run_onnxruntime", &CheckArguments::run_onnxruntime)
      .def_rw("run_litert", &CheckArguments::run_litert)
      .def_rw("names", &CheckArguments::names)
      .def_rw("pair_by_order", &CheckArguments::pair_by_order)
      .def_rw("layout", &CheckArguments::layout)
      .def_rw("arithmetic", &CheckArguments::arithmetic)
      .def_rw("layers", &CheckArguments::layers)
      .def_rw("min_tested", &CheckArguments::min_tested)
      .def_rw("expect", &CheckArguments::expect)
      .def_rw("pictures", &CheckArguments::pictures)
      .def_rw("reproduce", &CheckArguments::reproduce)
      .def_rw("golden_name", &CheckArguments::golden_name)
      .def_rw("subject_name", &CheckArguments::subject_name);
  nb::class_<CheckResult>(m, "CheckResult")
      .def("json", [](const CheckResult& result) { return InOptionWords(FormatJson(result)); })
      .def("html", [](const CheckResult& result) { return InOptionWords(FormatHtml(result)); })
      .def("sarif", [](const CheckResult& result) { return InOptionWords(FormatSarif(result)); })
      .def("csv", [](const CheckResult& result) { return FormatCsv(result.runs); })
      .def(
          "conclusion",
          [](const CheckResult& result) {
            const Conclusion conclusion = Conclude(result);
            return nb::make_tuple(conclusion.verdict, conclusion.exit_code,
                                  PrintableLine(InOptionWords(conclusion.line)));
          },
          nb::sig("def conclusion(self) -> tuple[str, int, str]"))
      .def("failures", &Failures, nb::sig("def failures(self) -> list[tuple[str, str, str]]"))
      .def("baselines", &Baselines, nb::sig("def baselines(self, key: str, /) -> list[tuple[str, bool]]"))
      .def("text", &Text)
      .def("outputs", &Outputs, nb::sig("def outputs(self, run: int, /) -> list[tuple[str, typing.Any, typing.Any]]"));
  m.def("check", &Check);
  nb::class_<Baseline>(m, "Baseline")
      .def(nb::init<>())
      .def_static("read", [](const std::string& path) { return ValueOf(Baseline::Read(path)); })
      .def("write", [](const Baseline& baseline, const std::string& path) { ThrowIfError(baseline.Write(path)); })
      .def("merge", [](Baseline& baseline, const std::string& text,
                       bool partly) { baseline.Merge(ValueOf(Baseline::Parse(text, "of a worker")), partly); })
      .def("compare", [](const Baseline& baseline, const std::string& key, const CheckResult& result) {
        std::vector<std::string> worse = baseline.Compare(key, result.runs);
        for (std::string& sentence : worse) sentence = PrintableLine(sentence);
        return worse;
      });
}

}  // namespace plumb::python
