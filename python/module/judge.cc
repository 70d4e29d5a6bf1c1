// SPDX-License-Identifier: Apache-2.0
// One operator call, judged.
#include <nanobind/stl/variant.h>

#include "bind.h"
#include "plumb/judge.h"

namespace plumb::python {
namespace {

// (array or None, bf16), in the operator's order.
using CallArrays = std::vector<std::pair<nb::object, bool>>;

std::vector<Tensor> ToCallTensors(const CallArrays& arrays) {
  std::vector<Tensor> tensors;
  for (const auto& [array, bf16] : arrays) tensors.push_back(array.is_none() ? Tensor() : ToTensor(array, bf16));
  return tensors;
}

struct CallArguments {
  std::string op;
  CallArrays inputs;
  std::map<std::string, AttributeValue> attributes;
  std::string arithmetic;  // "", "found" or a name
};

OperatorCall ToCall(const CallArguments& a) { return {a.op, ToCallTensors(a.inputs), a.attributes}; }

std::optional<CallArithmetic> Declared(const std::string& arithmetic) {
  if (arithmetic.empty() || arithmetic == "found") return std::nullopt;
  return ValueOf(ParseCallArithmetic(arithmetic));
}

Judgement JudgeArrays(const CallArguments& a, const CallArrays& outputs, bool causes) {
  const OperatorCall call = ToCall(a);
  const std::vector<Tensor> tensors = ToCallTensors(outputs);
  const JudgeCallOptions options{Declared(a.arithmetic), a.arithmetic == "found", causes};
  return Compute([&] { return JudgeCall(call, tensors, options); });
}

// [(expected, tau, rtol, atol)]
nb::list Tolerances(const CallArguments& a, size_t num_outputs) {
  if (a.arithmetic == "found") {
    throw StatusError{
        Status::InvalidArgument("arithmetic: a tolerance is of one arithmetic, and \"found\" is for an output")};
  }
  const OperatorCall call = ToCall(a);
  const CallArithmetic arithmetic = Declared(a.arithmetic).value_or(CallArithmetic());
  nb::list all;
  for (const CallTolerance& one : Compute([&] { return ToleranceOf(call, arithmetic, num_outputs); }))
    all.append(nb::make_tuple(ToArray(one.expected), ToArray(one.tau), one.rtol, one.atol));
  return all;
}

// Of each output: verdict, E, R, bias, bias_z, worst index, actual, expected, tau.
nb::list Outputs(const Judgement& judgement) {
  nb::list all;
  for (const JudgedOutput& one : judgement.outputs) {
    all.append(nb::make_tuple(VerdictName(one.report.verdict), one.report.excess, one.report.rms_excess,
                              one.report.bias, one.report.bias_z, one.worst.index, one.worst.actual, one.worst.expected,
                              one.worst.tau));
  }
  return all;
}

}  // namespace

void BindJudge(nb::module_& m) {
  nb::class_<CallArguments>(m, "CallArguments")
      .def(nb::init<>())
      .def_rw("op", &CallArguments::op)
      .def_rw("inputs", &CallArguments::inputs)
      .def_rw("attributes", &CallArguments::attributes)
      .def_rw("arithmetic", &CallArguments::arithmetic);
  nb::class_<Judgement>(m, "JudgementResult")
      .def_prop_ro("verdict", [](const Judgement& j) { return VerdictName(j.verdict); })
      .def_prop_ro("reason", [](const Judgement& j) { return j.reason; })
      .def_prop_ro("cause", [](const Judgement& j) { return j.cause; })
      .def_prop_ro("computed_as", [](const Judgement& j) { return j.computed_as; })
      .def_prop_ro("outputs", &Outputs,
                   nb::sig("def outputs(self) -> list[tuple[str, float, float, float, float, list[int], float, float, "
                           "float]]"))
      .def("describe", &Judgement::Describe);
  m.def("judge", &JudgeArrays);
  m.def("tolerances", &Tolerances,
        nb::sig("def tolerances(call: CallArguments, num_outputs: int, /) -> list[tuple[typing.Any, typing.Any, float, "
                "float]]"));
  m.def("call_names", &CallNames);
}

}  // namespace plumb::python
