// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline: written down, and compared.
#include <nanobind/stl/variant.h>

#include <variant>

#include "bind.h"
#include "plumb/stage.h"

namespace plumb::python {
namespace {

using StageParameters = std::vector<std::pair<std::string, std::variant<std::string, std::vector<double>>>>;

struct StageArguments {
  std::string name, kind, layout, color, library;
  StageParameters parameters;
};

StageInfo ToStageInfo(const StageArguments& arguments) {
  StageInfo info;
  info.kind = arguments.kind;
  info.layout = arguments.layout;
  info.color = arguments.color;
  info.library = arguments.library;
  for (const auto& [name, value] : arguments.parameters) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      info.parameters.emplace_back(name, *text);
    } else {
      info.parameters.emplace_back(name, std::get<std::vector<double>>(value));
    }
  }
  return info;
}

void WriteStage(const StageArguments& arguments, const nb::object& array, bool bf16) {
  const Tensor tensor = ToTensor(array, bf16);
  const StageInfo info = ToStageInfo(arguments);
  Compute([&] { return Stage(arguments.name, tensor, info); });
}

StageReport CompareStages(const std::string& original, const std::string& port, const std::string& model,
                          double tolerance) {
  return Compute([&]() -> Result<StageReport> {
    StageDiffOptions options;
    options.tolerance = tolerance;
    if (!model.empty()) {
      PLUMB_ASSIGN_OR_RETURN(options.model, StageNetwork(model));
    }
    return DiffStages(original, port, options);
  });
}

nb::list Match(const nb::object& before, const StageArguments& arguments, const nb::object& after) {
  const Tensor from = ToTensor(before, false), to = ToTensor(after, false);
  StageRecord record;
  record.name = arguments.name;
  record.kind = arguments.kind.empty() ? StageKind(arguments.name) : arguments.kind;
  record.info = ToStageInfo(arguments);
  nb::list list;
  for (const StageMatch& match : Compute([&] { return MatchStage(from, record, to); })) {
    nb::dict one;
    one["convention"] = match.convention;
    one["code"] = match.code;
    one["reproduces"] = match.reproduces;
    one["max_abs"] = match.max_abs;
    one["differing"] = match.differing;
    list.append(one);
  }
  return list;
}

}  // namespace

void BindStage(nb::module_& m) {
  nb::class_<StageArguments>(m, "StageArguments")
      .def(nb::init<>())
      .def_rw("name", &StageArguments::name)
      .def_rw("kind", &StageArguments::kind)
      .def_rw("layout", &StageArguments::layout)
      .def_rw("color", &StageArguments::color)
      .def_rw("library", &StageArguments::library)
      .def_rw("parameters", &StageArguments::parameters);
  nb::class_<StageReport>(m, "StageReport")
      .def("json", [](const StageReport& report) { return FormatStageJson(report); })
      .def("summary", [](const StageReport& report) { return FormatStageSummary(report); })
      .def("text", [](const StageReport& report, size_t width) {
        return FormatStageText(report, {false, width});
      });
  m.def("stage", &WriteStage);
  m.def("begin_sample", [](const std::string& name) { Compute([&] { return BeginSample(name); }); });
  m.def("stage_diff", &CompareStages);
  m.def("stage_match", &Match,
        nb::sig("def stage_match(before: object, arguments: StageArguments, after: object, /) -> "
                "list[dict[str, typing.Any]]"));
}

}  // namespace plumb::python
