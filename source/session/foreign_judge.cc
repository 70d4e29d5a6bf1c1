// SPDX-License-Identifier: Apache-2.0
// How a foreign runtime computed is found, or declared; then its tensors are judged.
#include "session/foreign_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "check/core/coverage.h"
#include "check/integer/integer_rules.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/int8_weights.h"
#include "check/subject/overwritten.h"
#include "check/subject/unwritten.h"
#include "op/core/op.h"

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

// A run and how its arithmetic came to be known.
struct Judged {
  RunReport report;
  SubjectArithmetic arithmetic;
  std::string how;
  Int8WeightsOf int8_weights;
};

Result<Judged> JudgeAs(SubjectArithmetic arithmetic, std::string how, const Graph& graph, const PairedBlobs& blobs,
                       const std::map<std::string, Tensor>& inputs, SubjectOptions options) {
  options.check.arithmetic = arithmetic;
  PLUMB_ASSIGN_OR_RETURN(RunReport report, CheckSubjectBlobs(graph, blobs, inputs, options));
  return Judged{std::move(report), arithmetic, std::move(how), options.check.int8_weights};
}

// Wrong rather than grey, grey rather than aligned.
int Badness(const RunReport& run) { return 2 * run.Count(Verdict::kWrong) + run.Count(Verdict::kGrey); }

// What is stored to one side is so in every arithmetic, and a wider bound would only hide it: it says nothing.
bool IsBeyond(const LayerReport& layer) {
  const OutputReport* worst = layer.Worst();
  return (layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey) &&
         (worst == nullptr || worst->one_sided.empty());
}

int CountBeyond(const RunReport& run) {
  return static_cast<int>(std::count_if(run.layers.begin(), run.layers.end(), IsBeyond));
}

// With weights as most quantisers round them; where layers are beyond that, with what a few of them say, then with
// weights that nobody knows. Causes are sought of what holds at the end.
Result<Judged> JudgeAsInt8(const std::string& how, const Graph& graph, const PairedBlobs& blobs,
                           const std::map<std::string, Tensor>& inputs, SubjectOptions options) {
  const bool causes = std::exchange(options.check.causes, false);
  const auto judge = [&](const Int8WeightsOf& weights) {
    options.check.int8_weights = weights;
    const std::string words = fmt::format("{}; {}", how, Describe(weights));
    return JudgeAs(SubjectArithmetic::kInt8, words, graph, blobs, inputs, options);
  };
  PLUMB_ASSIGN_OR_RETURN(Judged best, judge({}));
  const auto few = [&](const Int8WeightsOf& weights, const std::vector<std::string>& layers) -> Result<RunReport> {
    SubjectOptions sample = options;
    sample.check.int8_weights = weights;
    sample.check.layers = layers;
    sample.check.inherited = false;
    PLUMB_ASSIGN_OR_RETURN(Judged judged, JudgeAs(SubjectArithmetic::kInt8, "", graph, blobs, inputs, sample));
    return std::move(judged.report);
  };
  PLUMB_ASSIGN_OR_RETURN(const Int8WeightsOf found, FindInt8Weights(graph, best.report, few));
  const auto keep_if_better = [&](const Int8WeightsOf& weights) -> Status {
    PLUMB_ASSIGN_OR_RETURN(Judged tried, judge(weights));
    if (Badness(tried.report) < Badness(best.report)) best = std::move(tried);
    return Status::Ok();
  };
  if (!found.empty()) PLUMB_RETURN_IF_ERROR(keep_if_better(found));
  const Int8WeightsOf unknown = UnknownWhereMostAreBeyond(graph, best.report, found);
  if (std::any_of(unknown.begin(), unknown.end(), [](const auto& of_type) { return of_type.second.steps == 0; }))
    PLUMB_RETURN_IF_ERROR(keep_if_better(unknown));
  if (!causes || CountBeyond(best.report) == 0) return best;
  options.check.causes = true;
  return judge(best.int8_weights);
}

// Of products that were judged: how far they are off on the whole. It tells apart what explains the same layers.
double SumOfExcess(const RunReport& run) {
  double sum = 0;
  for (const LayerReport& layer : run.layers) {
    const OutputReport* worst = layer.Worst();
    if (worst != nullptr && std::isfinite(worst->rms_excess)) sum += worst->rms_excess;
  }
  return sum;
}

// Whether a layer of the same type as the one beyond is right to the last bit of 16, and reads what a layer made: it
// read the rounded values, so the one beyond differs from its like.
bool HasExactLike(const Graph& graph, const RunReport& run) {
  constexpr double kRoundedOnce = 0.5;  // R where the only error is one rounding to 16 bits: 0.40 to 0.44 measured
  const auto beyond = std::find_if(run.layers.begin(), run.layers.end(), IsBeyond);
  std::set<std::string> outer;  // the network's inputs, moved or not
  for (const GraphInput& input : graph.inputs) outer.insert(input.name);
  for (const Layer& layer : graph.layers) {
    if (GetOp(layer.kind).moves_data_only && outer.count(layer.inputs[0]) != 0)
      outer.insert(layer.outputs.begin(), layer.outputs.end());
  }
  const auto from_outside = [&](const PortInfo& port) { return outer.count(port.blob) != 0; };
  return std::any_of(run.layers.begin(), run.layers.end(), [&](const LayerReport& layer) {
    const OutputReport* worst = layer.Worst();
    if (IsBeyond(layer) || worst == nullptr || layer.verdict != Verdict::kAligned) return false;
    if (layer.step.type != beyond->step.type || worst->rms_excess > kRoundedOnce) return false;
    return std::none_of(layer.step.inputs.begin(), layer.step.inputs.end(), from_outside);
  });
}

bool MayBeWinograd(const Graph& graph, const LayerReport& report) {
  LayerGroup group;
  for (const MemberInfo& member : report.step.members) {
    for (const Layer& layer : graph.layers) {
      if (layer.index == member.index) group.members.push_back(&layer);
    }
  }
  return plumb::MayBeWinograd(group);
}

// The only layer that is beyond 16 bits is a convolution, and values of f32 in it would explain it: Winograd's
// algorithm, which runtimes choose layer by layer, or an input that was not rounded yet.
Result<Judged> WithLoneWinograd(Judged half, SubjectArithmetic chains, const Graph& graph, const PairedBlobs& blobs,
                                const std::map<std::string, Tensor>& inputs, const SubjectOptions& options) {
  const auto lone = std::find_if(half.report.layers.begin(), half.report.layers.end(), IsBeyond);
  if (!MayBeWinograd(graph, *lone)) return half;
  PLUMB_ASSIGN_OR_RETURN(const Judged wide, JudgeAs(chains, "", graph, blobs, inputs, options));
  if (CountBeyond(wide.report) > 0) return half;
  lone->verdict = Verdict::kGrey;
  lone->reason = fmt::format(
      "Winograd's algorithm, or an input that was not rounded yet, would explain it "
      "(SessionOptions::arithmetic {})",
      ArithmeticName(chains));
  for (OutputReport& output : lone->outputs) {
    if (output.verdict >= Verdict::kGrey) output.reason = lone->reason;
    output.verdict = std::min(output.verdict, Verdict::kGrey);
  }
  ConcludeRun(graph.outputs, options.check.min_tested, &half.report);
  return half;
}

// Several layers are beyond 16 bits in any other way: sums that are rounded to them, too, where that explains most.
Result<Judged> WithNarrowSums(Judged half, SubjectArithmetic computed, int beyond, const Graph& graph,
                              const PairedBlobs& blobs, const std::map<std::string, Tensor>& inputs,
                              SubjectOptions options) {
  options.check.find_products = true;
  PLUMB_ASSIGN_OR_RETURN(Judged sums, JudgeAs(computed, half.how, graph, blobs, inputs, options));
  if (sums.report.found_because.empty() || 2 * CountBeyond(sums.report) >= beyond) return half;
  sums.how += "; " + sums.report.found_because;
  return sums;
}

// Values of 16 bits, in all of the dump or by some operators: computed with them, or handed on in f32 with weights of
// 16 bits, or in fp32 altogether with a dump that was rounded. The first, which is the narrowest, unless several layers
// are beyond it and one of the others explains most of these, or one is and has no like that shows it to be a fault.
Result<Judged> JudgeAsHalf(const HalfStorage& storage, const Graph& graph, const PairedBlobs& blobs,
                           const std::map<std::string, Tensor>& inputs, const SubjectOptions& options) {
  using A = SubjectArithmetic;
  const bool f16 = storage.format() == DType::kF16;
  const std::string found = "found: " + storage.because();
  const A computed = f16 ? A::kFp16 : A::kBf16;
  PLUMB_ASSIGN_OR_RETURN(Judged best, JudgeAs(computed, found, graph, blobs, inputs, options));
  const int beyond = CountBeyond(best.report);
  if (beyond == 0) return best;
  if (beyond == 1 && HasExactLike(graph, best.report))
    return WithLoneWinograd(std::move(best), f16 ? A::kChainedF16 : A::kChainedBf16, graph, blobs, inputs, options);
  int left = beyond;
  for (const A wider : {f16 ? A::kStoredF16 : A::kStoredBf16, f16 ? A::kChainedF16 : A::kChainedBf16}) {
    PLUMB_ASSIGN_OR_RETURN(Judged wide, JudgeAs(wider, "", graph, blobs, inputs, options));
    const int now = CountBeyond(wide.report);
    if (2 * now >= beyond || now > left) continue;
    if (now == left && SumOfExcess(wide.report) >= SumOfExcess(best.report)) continue;
    wide.how = fmt::format("{}; {} layers are beyond {}, {} beyond this", found, beyond, ArithmeticName(computed), now);
    left = now;
    best = std::move(wide);
  }
  return left > 0 ? WithNarrowSums(std::move(best), computed, left, graph, blobs, inputs, options) : std::move(best);
}

// By the values when these are f16 or bf16; by the layers that are beyond fp32 but not beyond other products.
Result<Judged> FindAndJudge(const Graph& graph, const PairedBlobs& blobs, const std::map<std::string, Tensor>& inputs,
                            const SubjectOptions& options) {
  if (blobs.half_storage().format() != DType::kF32)
    return JudgeAsHalf(blobs.half_storage(), graph, blobs, inputs, options);
  if (blobs.of_quantised_copy()) return JudgeAsInt8("found: it is of a quantised copy", graph, blobs, inputs, options);
  SubjectOptions fp32 = options;
  fp32.check.find_products = true;
  fp32.check.causes = options.check.causes && !blobs.maybe_int8();  // else it is only whether all is aligned
  PLUMB_ASSIGN_OR_RETURN(
      Judged plain, JudgeAs(SubjectArithmetic::kFp32, "found: nothing speaks against it", graph, blobs, inputs, fp32));
  const bool off = plain.report.Count(Verdict::kWrong) + plain.report.Count(Verdict::kGrey) > 0;
  if (off && blobs.maybe_int8()) {
    return JudgeAsInt8("found: its tensors lie on grids of 256 steps", graph, blobs, inputs, options);
  }
  if (plain.report.found_because.empty()) return plain;
  plain.arithmetic = plain.report.found_arithmetic;
  plain.how = "found: " + plain.report.found_because;
  return plain;
}

// Sums in 16 bits are looked for where blobs of them are declared.
Result<Judged> JudgeAsDeclared(SubjectArithmetic declared, const Graph& graph, const PairedBlobs& blobs,
                               const std::map<std::string, Tensor>& inputs, const SubjectOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(Judged judged, JudgeAs(declared, "declared", graph, blobs, inputs, options));
  const int beyond = CountBeyond(judged.report);
  if (!ModelOf(declared).is_half() || beyond < 2) return judged;
  return WithNarrowSums(std::move(judged), declared, beyond, graph, blobs, inputs, options);
}

// Declared: the causes say which products; other algorithms are found beside.
Result<Judged> JudgeAsNarrow(const Graph& graph, const PairedBlobs& blobs, const std::map<std::string, Tensor>& inputs,
                             SubjectOptions options) {
  options.check.find_products = true;
  PLUMB_ASSIGN_OR_RETURN(Judged judged,
                         JudgeAs(SubjectArithmetic::kNarrowProducts, "declared", graph, blobs, inputs, options));
  const std::string& found = judged.report.found_because;
  judged.how += found.empty() ? "; no layer is so computed" : "; " + found;
  return judged;
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

// What was wrong in the run that holds, to `on_wrong`: runs that were tried and dropped wrote nothing.
Status HandOverWrong(const decltype(CheckOptions::on_wrong)& on_wrong, const RunReport& report, const Graph& graph,
                     const BlobSource& blobs, const std::map<std::string, Tensor>& inputs, SubjectOptions options) {
  std::set<std::string> wrong;
  for (const LayerReport& layer : report.layers) {
    for (const OutputReport& output : layer.outputs) {
      if (output.verdict == Verdict::kWrong) wrong.insert(output.blob);
    }
  }
  if (wrong.empty() || !on_wrong) return Status::Ok();
  options.check.causes = options.check.inherited = false;
  options.check.on_wrong = [&](const std::string& blob, const Tensor& device, const Tensor& reference) {
    return wrong.count(blob) == 0 ? Status::Ok() : on_wrong(blob, device, reference);
  };
  return CheckSubjectBlobs(graph, blobs, inputs, options).status();
}

// The steps asked for, else the first guilty one, of the run that holds to `on_step`.
Status HandOverSteps(const decltype(CheckOptions::on_step)& on_step, std::vector<std::string> wanted,
                     const RunReport& report, const Graph& graph, const BlobSource& blobs,
                     const std::map<std::string, Tensor>& inputs, SubjectOptions options) {
  if (wanted.empty() && report.first_wrong >= 0)
    wanted.push_back(report.layers[static_cast<size_t>(report.first_wrong)].step.name);
  if (wanted.empty() || !on_step) return Status::Ok();
  options.check.on_step = [&](const StepCase& step) {
    const auto holds = [&](const std::string& name) { return HoldsLayer(step.report.step, name); };
    return std::any_of(wanted.begin(), wanted.end(), holds) ? on_step(step) : Status::Ok();
  };
  return CheckSubjectBlobs(graph, blobs, inputs, options).status();
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
  if (IsOfTflite(graph)) options.description += ", " + blobs.set().description();  // it says which kernels
  options.check = std::move(check);
  const std::vector<std::string> layers = std::move(options.check.layers);
  options.check.layers.clear();  // the arithmetic is the whole subject's
  const auto on_wrong = std::move(options.check.on_wrong);
  options.check.on_wrong = nullptr;
  const auto on_step = std::move(options.check.on_step);
  options.check.on_step = nullptr;
  options.check.may_be_half = blobs.set().may_be_half();
  for (const auto& [name, value] : inputs) options.input_shapes[name] = value.shape();
  const auto judge = [&] {
    if (!declared) return FindAndJudge(graph, blobs, inputs, options);
    if (*declared == SubjectArithmetic::kInt8) return JudgeAsInt8("declared", graph, blobs, inputs, options);
    if (*declared == SubjectArithmetic::kNarrowProducts) return JudgeAsNarrow(graph, blobs, inputs, options);
    return JudgeAsDeclared(*declared, graph, blobs, inputs, options);
  };
  PLUMB_ASSIGN_OR_RETURN(Judged judged, judge());
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
  PLUMB_RETURN_IF_ERROR(KeepNamedLayers(layers, graph.outputs, options.check.min_tested, &report));
  const SubjectWithout kept(blobs, left_out);
  PLUMB_RETURN_IF_ERROR(HandOverWrong(on_wrong, report, graph, kept, inputs, options));
  PLUMB_RETURN_IF_ERROR(HandOverSteps(on_step, layers, report, graph, kept, inputs, options));
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
