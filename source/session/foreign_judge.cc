// SPDX-License-Identifier: Apache-2.0
#include "session/foreign_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "check/core/coverage.h"
#include "check/integer/made_for.h"
#include "check/numbers/arithmetic.h"
#include "check/subject/overwritten.h"
#include "check/subject/subject_judge.h"
#include "check/subject/unwritten.h"
#include "op/core/op.h"
#include "session/find_arithmetic.h"

namespace plumb {
namespace {

bool OnlyBorders(const Graph& graph, const PairedBlobs& blobs) {
  for (const Layer& layer : graph.layers) {
    for (const std::string& output : layer.outputs) {
      if (blobs.Has(output) && std::find(graph.outputs.begin(), graph.outputs.end(), output) == graph.outputs.end())
        return false;
    }
  }
  return true;
}

bool HasProduct(const StepInfo& step) {
  return std::any_of(step.members.begin(), step.members.end(), [](const MemberInfo& member) {
    const OpDef* op = FindOp(member.type);
    return op != nullptr && op->sums == Sums::kProducts;
  });
}

// What of the run as a whole is not f32: its results of 16 bits or on grids, or what was declared.
void NoteComputed(SubjectArithmetic arithmetic, bool declared, RunReport* report) {
  const NumericModel& model = ModelOf(arithmetic);
  ComputedAs as{model.name, {}, "", 0, 0, declared};
  if (model.blobs != DType::kF32) {
    as.precisions = {model.blobs == DType::kI8 ? "int8" : DTypeName(model.blobs)};
    for (const LayerReport& layer : report->layers) {
      for (const PortInfo& port : layer.step.outputs) {
        as.of += port.dtype == DType::kF32;
        as.steps += port.stored == model.blobs;
      }
    }
  } else if (declared && (model.u_products > 0x1p-24 || model.products.storage != DType::kF32)) {
    as.precisions = {model.products.storage != DType::kF32 ? DTypeName(model.products.storage) : model.name};
    for (const LayerReport& layer : report->layers) as.of += HasProduct(layer.step);
    as.steps = as.of, as.type = "sums of products";
  }
  if (!as.precisions.empty()) report->computed_as.insert(report->computed_as.begin(), std::move(as));
}

// What the model's own dtypes and the dump's manifest say of the precisions that are to be expected.
void NoteOwnPrecisions(const Graph& graph, const PairedBlobs& blobs, RunReport* report) {
  std::set<std::string> own;
  for (const auto& [blob, dtype] : graph.model_dtypes) {
    if (dtype == DType::kF16 || dtype == DType::kBF16) own.insert(DTypeName(dtype));
  }
  if (blobs.set().may_be_half()) own.insert({"f16", "bf16"});
  const bool quantises = std::any_of(graph.layers.begin(), graph.layers.end(), [](const Layer& layer) {
    return layer.kind == OpKind::kPlumbQuantizeLinear || layer.kind == OpKind::kPlumbDequantizeLinear;
  });
  if (quantises || blobs.of_quantised_copy()) own.insert({"int8", "int4"});
  report->own_precisions.assign(own.begin(), own.end());
}

// Of the run that holds what was wrong, to `on_wrong`, and the steps asked for, else the first guilty one, to
// `on_step`: runs that were tried and dropped handed out nothing.
Status HandOver(const CheckOptions& to, const RunReport& report, SubjectOptions options, SubjectJudge* judge) {
  std::vector<std::string> wanted = to.layers;
  if (wanted.empty() && report.first_wrong >= 0)
    wanted.push_back(report.layers[static_cast<size_t>(report.first_wrong)].step.name);
  const auto is_wanted = [&](const LayerReport& layer) {
    return to.on_step && std::any_of(wanted.begin(), wanted.end(),
                                     [&](const std::string& name) { return HoldsLayer(layer.step, name); });
  };
  const auto is_wrong = [&](const LayerReport& layer) { return to.on_wrong && layer.verdict == Verdict::kWrong; };
  const SomeSteps steps =
      StepsThat(report, [&](const LayerReport& layer) { return is_wanted(layer) || is_wrong(layer); });
  if (steps.empty()) return Status::Ok();
  std::map<std::string, const LayerReport*> layers;
  for (const LayerReport& layer : report.layers) layers[layer.step.outputs[0].blob] = &layer;
  options.check.causes = options.check.find_products = false;
  options.check.on_step = [&](const StepCase& step) -> Status {
    const LayerReport& layer = *layers.at(step.report.step.outputs[0].blob);
    if (is_wanted(layer))
      PLUMB_RETURN_IF_ERROR(to.on_step({layer, step.layers, step.inputs, step.device, step.reference, step.tau}));
    const size_t outputs = is_wrong(layer) ? std::min(layer.outputs.size(), step.reference.size()) : 0;
    for (size_t i = 0; i < outputs; ++i) {
      if (layer.outputs[i].verdict != Verdict::kWrong) continue;
      PLUMB_RETURN_IF_ERROR(to.on_wrong(layer.outputs[i].blob, step.device[i], step.reference[i]));
    }
    return Status::Ok();
  };
  return judge->Again(options, report, steps).status();
}

}  // namespace

void CopyConversion(const RunReport& golden, RunReport* run) {
  std::map<int, Verdict> verdicts;  // by layer
  for (const LayerReport& layer : golden.layers) {
    for (const MemberInfo& member : layer.step.members) {
      const auto it = verdicts.emplace(member.index, layer.verdict).first;
      it->second = std::max(it->second, layer.verdict);
    }
  }
  for (LayerReport& layer : run->layers) {
    Verdict worst = Verdict::kAligned;
    bool tested = false;
    for (const MemberInfo& member : layer.step.members) {
      const auto it = verdicts.find(member.index);
      if (it == verdicts.end() || it->second == Verdict::kNotTested) continue;
      tested = true;
      worst = std::max(worst, it->second);
    }
    for (OutputReport& output : layer.outputs) output.golden.conversion = tested ? worst : Verdict::kNotTested;
  }
}

Result<RunReport> JudgeForeign(const std::string& device, const Graph& graph, const PairedBlobs& blobs,
                               const std::map<std::string, Tensor>& inputs, std::optional<SubjectArithmetic> declared,
                               CheckOptions check) {
  SubjectOptions options;
  options.device = device;
  options.description = blobs.set().path();
  const std::string& says = blobs.set().description();  // which kernels
  const auto is_of = [&](const char* runtime) { return says.rfind(fmt::format("dump of {} ", runtime), 0) == 0; };
  if (IsOfTflite(graph) || is_of("ncnn") || is_of("mnn") || is_of("litert") || is_of("onnxruntime"))
    options.description += ", " + says;
  options.check = std::move(check);
  const CheckOptions asked = options.check;
  options.check.layers.clear();  // the arithmetic is the whole subject's
  options.check.on_wrong = nullptr;
  options.check.on_step = nullptr;
  options.check.may_be_half = blobs.set().may_be_half();
  for (const auto& [name, value] : inputs) options.input_shapes[name] = value.shape();
  SubjectJudge judge(graph, blobs, inputs);
  PLUMB_ASSIGN_OR_RETURN(Judged judged, JudgeAsComputed(declared, blobs, options, &judge));
  RunReport& report = judged.report;
  options.check.arithmetic = judged.arithmetic;
  options.check.int8_weights = judged.int8_weights;
  const bool narrow = judged.arithmetic == SubjectArithmetic::kNarrowProducts;
  if (narrow) options.check.arithmetic = declared.value_or(SubjectArithmetic::kFp32);  // they are found again
  const bool floats = judged.arithmetic != SubjectArithmetic::kInt8 && !ModelOf(judged.arithmetic).is_half();
  const bool sums = ModelOf(judged.arithmetic).is_half() && !report.found_because.empty();
  options.check.find_products = narrow || sums || (!declared && floats);
  std::set<std::string> left_out;
  if (judged.arithmetic != SubjectArithmetic::kInt8) {
    PLUMB_ASSIGN_OR_RETURN(report, LeaveOutUnwritten(graph, blobs, inputs, options, std::move(report), &left_out));
  }
  if (judged.arithmetic != SubjectArithmetic::kInt8 && left_out.empty()) {
    PLUMB_ASSIGN_OR_RETURN(report, LeaveOutOverwritten(graph, blobs, inputs, options, std::move(report), &left_out));
  }
  NoteComputed(judged.arithmetic, declared.has_value(), &report);
  NoteOwnPrecisions(graph, blobs, &report);
  PLUMB_RETURN_IF_ERROR(KeepNamedLayers(asked.layers, graph.outputs, options.check.min_tested, &report));
  const SubjectWithout kept(blobs, left_out);
  SubjectJudge judge_kept(graph, kept, inputs);
  PLUMB_RETURN_IF_ERROR(HandOver(asked, report, options, left_out.empty() ? &judge : &judge_kept));
  const char* arithmetic = ArithmeticName(judged.arithmetic);
  report.judged_as = fmt::format("{}, {}", blobs.layout(), arithmetic);
  report.notes.insert(report.notes.begin(), blobs.notes().begin(), blobs.notes().end());
  report.notes.push_back(fmt::format("arithmetic {} ({})", arithmetic, judged.how));
  for (const ComputedAs& as : report.computed_as) report.notes.push_back("computed as " + as.Describe());
  report.probe = blobs.set().probe();
  if (!report.probe.outputs.empty()) report.notes.push_back(report.probe.Describe());
  for (const RepeatedRun& run : report.probe.repeats) report.notes.push_back(run.Describe());
  if (judged.arithmetic == SubjectArithmetic::kInt8) {
    report.notes.emplace_back(
        "int8: each output counts as rounded to the grid that its values lie on, and may saturate at its ends; float "
        "inputs as rounded to 127 steps of twice their range; a tensor on no grid as computed in f32");
  }
  if (OnlyBorders(graph, blobs)) {
    report.notes.emplace_back(
        "it has network inputs and outputs only, so the whole network is one step; to learn which layer is guilty, "
        "dump the layers' outputs too (doc/subjects.md), half of them first when they are many");
  }
  return std::move(report);
}

}  // namespace plumb
