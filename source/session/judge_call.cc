// SPDX-License-Identifier: Apache-2.0
// JudgeCall: the judge of whole networks, asked about one operator.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/judge/judge.h"
#include "check/judge/one_sided.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/stored_half.h"
#include "plumb/judge.h"
#include "plumb/subject.h"
#include "session/call_graph.h"
#include "session/call_tolerance.h"

namespace plumb {
namespace {

// As the dtype of what is judged says.
SubjectArithmetic ArithmeticOf(const std::vector<Tensor>& outputs) {
  for (const Tensor& output : outputs) {
    if (output.dtype() == DType::kF16) return SubjectArithmetic::kFp16;
    if (output.dtype() == DType::kBF16) return SubjectArithmetic::kBf16;
  }
  return SubjectArithmetic::kFp32;
}

bool AllAre(DType narrow, const std::vector<Tensor>& outputs) {
  for (const Tensor& output : outputs) {
    const auto rounded = RoundedTo(narrow, output);
    if (!rounded.ok()) return false;
    for (int64_t i = 0; i < output.NumElements(); ++i) {
      const double value = output.ValueAt(i);
      if (value != rounded->ValueAt(i) && !std::isnan(value)) return false;
    }
  }
  return true;
}

// What else may explain an output, the most exact first.
std::vector<CallArithmetic> OtherWays(const CallArithmetic& own, const std::vector<Tensor>& outputs) {
  using A = SubjectArithmetic;
  if (ModelOf(own.arithmetic).is_half()) return {{own.arithmetic, !own.narrow_sums}};
  std::vector<CallArithmetic> ways;
  for (const A way : {A::kWinograd, A::kTf32, A::kF16Products, A::kBf16Products, A::kNarrowProducts}) {
    if (way != own.arithmetic) ways.push_back({way});
  }
  if (AllAre(DType::kF16, outputs)) ways.insert(ways.end(), {{A::kStoredF16}, {A::kFp16}, {A::kFp16, true}});
  if (AllAre(DType::kBF16, outputs)) ways.insert(ways.end(), {{A::kStoredBf16}, {A::kBf16}, {A::kBf16, true}});
  return ways;
}

class Judging {
 public:
  Judging(const CallGraph& call, const CallOutputs& outputs) : call_(call), outputs_(outputs) {}

  Result<RunReport> By(const CallArithmetic& way, bool causes) const {
    SubjectOptions options;
    options.device = "call";
    options.check.arithmetic = way.arithmetic;
    options.check.record = &call_.record;
    options.check.min_tested = 0;
    options.check.causes = causes;
    options.check.inherited = false;
    options.check.find_products = way.arithmetic == SubjectArithmetic::kNarrowProducts;
    PLUMB_ASSIGN_OR_RETURN(RunReport report, CheckSubjectBlobs(call_.graph, outputs_, call_.inputs, options));
    if (way.narrow_sums) PLUMB_RETURN_IF_ERROR(JudgeAgain(way, &report));
    if (ModelOf(way.arithmetic).is_half() && report.verdict == Verdict::kAligned)
      PLUMB_RETURN_IF_ERROR(JudgeSidesOf(way, &report));
    return report;
  }

  // The first that explains it; the first report where none does.
  Result<RunReport> First(const std::vector<CallArithmetic>& ways, CallArithmetic* found) const {
    std::optional<RunReport> first;
    for (const CallArithmetic& way : ways) {
      auto report = By(way, false);
      if (!report.ok() && first) continue;
      if (!report.ok()) return report.status();
      const bool aligned = report->verdict == Verdict::kAligned;
      if (aligned || !first) *found = way;
      if (aligned) return report;
      if (!first) first = std::move(*report);
    }
    return std::move(*first);
  }

 private:
  // The lockstep finds sums of 16 bits by several steps, and here is one: its outputs by their bound.
  Status JudgeAgain(const CallArithmetic& way, RunReport* report) const {
    PLUMB_ASSIGN_OR_RETURN(const auto bounds, BoundsOf(call_, outputs_, way));
    return ForEach(bounds, report, [](const Tensor& actual, const CallBound& bound, OutputReport* output) {
      output->verdict = Verdict::kAligned;
      output->reason.clear();
      Judge({actual, bound.stored.expected, bound.stored.tau}, output);
    });
  }

  // The lockstep's bound of a group allows that values inside it were stored, too, and then the nearest value is not
  // known. A kernel that is exact inside tells.
  Status JudgeSidesOf(const CallArithmetic& way, RunReport* report) const {
    const DType stored = ModelOf(way.arithmetic).blobs;
    for (const auto& [name, value] : call_.inputs) {
      if (value.dtype() == DType::kF32 && !AllAre(stored, {value})) return Status::Ok();  // as they were read, maybe
    }
    PLUMB_ASSIGN_OR_RETURN(const auto bounds, BoundsOf(call_, outputs_, {}));
    return ForEach(bounds, report, [&](const Tensor& actual, const CallBound& bound, OutputReport* output) {
      if (actual.dtype() != DType::kF32 || bound.values.dtype() != DType::kF64 || !output->one_sided.empty()) return;
      Tensor values = bound.values, tau = bound.tau;
      if (!JudgeAsStored(stored, actual, &values, &tau).ok()) return;
      OutputReport exact;
      exact.dtype = output->dtype;
      exact.shape = output->shape;
      Judge({actual, values, tau}, &exact);
      if (exact.verdict != Verdict::kAligned || exact.excess == 0) return;
      JudgeSides({actual, bound.values, bound.tau, LatticeOf(stored)}, output);
    });
  }

  // Calls f for each of the call's outputs; then the verdicts of layers and run are their outputs' worst. A layer
  // without outputs was not judged (another shape), and stays as it is.
  template <class F>
  Status ForEach(const std::vector<CallBound>& bounds, RunReport* report, const F& f) const {
    const std::vector<std::string>& names = call_.graph.outputs;
    report->verdict = Verdict::kAligned;
    for (LayerReport& layer : report->layers) {
      if (!layer.outputs.empty()) layer.verdict = Verdict::kAligned;
      for (OutputReport& output : layer.outputs) {
        const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), output.blob) - names.begin());
        if (at == names.size()) continue;
        PLUMB_ASSIGN_OR_RETURN(const Tensor actual, outputs_.Load(output.blob));
        f(actual, bounds[at], &output);
        layer.verdict = std::max(layer.verdict, output.verdict);
        if (!output.one_sided.empty()) layer.cause = output.one_sided;
      }
      report->verdict = std::max(report->verdict, layer.verdict);
    }
    return Status::Ok();
  }

  const CallGraph& call_;
  const CallOutputs& outputs_;
};

std::vector<int64_t> IndexOf(int64_t element, const Shape& shape) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[static_cast<size_t>(d)] = element % shape[d];
    element /= shape[d];
  }
  return index;
}

// Of the errors in units of what rounding explains the largest.
JudgedElement WorstOf(const Tensor& actual, const CallTolerance& allowed) {
  JudgedElement worst;
  double largest = 0;
  for (int64_t i = 0; i < actual.NumElements(); ++i) {
    const double a = actual.ValueAt(i), e = allowed.expected.ValueAt(i), tau = allowed.tau.ValueAt(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double off = std::isfinite(a) && std::isfinite(e) ? std::fabs(a - e) / std::max(tau, 1e-300) : INFINITY;
    if (off <= largest) continue;
    largest = off;
    worst = {IndexOf(i, actual.shape()), a, e, tau};
  }
  return worst;
}

Status FillOutputs(const CallGraph& call, const CallOutputs& given, const RunReport& report,
                   const CallArithmetic& arithmetic, Judgement* judgement) {
  std::vector<CallBound> allowed;
  if (judgement->verdict != Verdict::kAligned) {
    auto found = BoundsOf(call, given, arithmetic);
    if (found.ok()) allowed = std::move(*found);
  }
  for (size_t i = 0; i < call.graph.outputs.size(); ++i) {
    const std::string& name = call.graph.outputs[i];
    JudgedOutput output;
    for (const LayerReport& layer : report.layers) {
      for (const OutputReport& one : layer.outputs) {
        if (one.blob == name) output.report = one;
      }
      for (const PortInfo& port : layer.step.outputs) {
        if (port.blob == name && layer.outputs.empty()) output.report.verdict = layer.verdict;
      }
    }
    if (given.Has(name) && i < allowed.size()) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor actual, given.Load(name));
      if (actual.shape() == allowed[i].stored.expected.shape()) output.worst = WorstOf(actual, allowed[i].stored);
    }
    judgement->outputs.push_back(std::move(output));
  }
  return Status::Ok();
}

// The words of the first layer that has such.
void FillWords(const RunReport& report, Judgement* judgement) {
  for (const LayerReport& layer : report.layers) {
    if (judgement->reason.empty() && layer.verdict != Verdict::kAligned) judgement->reason = layer.reason;
    if (judgement->cause.empty()) judgement->cause = layer.cause;
  }
  if (judgement->reason.empty()) judgement->reason = report.why_not_tested;
}

}  // namespace

std::string CallArithmetic::Name() const {
  const std::string name = ArithmeticName(arithmetic);
  return narrow_sums ? fmt::format("{}+{}-sums", name, DTypeName(ModelOf(arithmetic).blobs)) : name;
}

Result<CallArithmetic> ParseCallArithmetic(const std::string& name) {
  for (const SubjectArithmetic half : {SubjectArithmetic::kFp16, SubjectArithmetic::kBf16}) {
    const CallArithmetic narrow{half, true};
    if (narrow.Name() == name) return narrow;
  }
  const auto known = ParseArithmetic(name);
  if (!known.ok()) {
    return Status::InvalidArgument(known.status().message() +
                                   " (of one operator also fp16+f16-sums and bf16+bf16-sums)");
  }
  return CallArithmetic{*known};
}

const JudgedOutput& Judgement::Worst() const {
  return *std::max_element(outputs.begin(), outputs.end(), [](const JudgedOutput& a, const JudgedOutput& b) {
    return a.report.verdict != b.report.verdict ? a.report.verdict < b.report.verdict
                                                : a.report.excess < b.report.excess;
  });
}

std::string Judgement::Describe() const {
  std::string text = VerdictName(verdict);
  if (outputs.empty()) return text + (reason.empty() ? "" : ": " + reason);
  const JudgedOutput& output = Worst();
  text += fmt::format(": E {:.3g}, R {:.3g}, as {}", output.report.excess, output.report.rms_excess, computed_as);
  const std::string& why = cause.empty() ? reason : cause;
  if (!why.empty()) text += "; " + why;
  if (output.worst.index.empty()) return text;
  std::string index;
  for (const int64_t i : output.worst.index) index += fmt::format("{}{}", index.empty() ? "" : ",", i);
  return text + fmt::format("; worst at [{}]: {:.9g} for {:.9g}, rounding explains {:.3g}", index, output.worst.actual,
                            output.worst.expected, output.worst.tau);
}

Result<Judgement> JudgeCall(const OperatorCall& call, const std::vector<Tensor>& outputs,
                            const JudgeCallOptions& options) {
  if (outputs.empty()) return Status::InvalidArgument(fmt::format("{}: no output is given", call.op));
  PLUMB_ASSIGN_OR_RETURN(const CallGraph made, MakeCallGraph(call, outputs.size()));
  PLUMB_ASSIGN_OR_RETURN(const CallOutputs given, CallOutputs::Of(made, outputs));
  const Judging judging(made, given);
  const CallArithmetic own = options.arithmetic.value_or(CallArithmetic{ArithmeticOf(outputs)});
  const std::vector<CallArithmetic> others = OtherWays(own, outputs);
  std::vector<CallArithmetic> ways = {own};
  if (own.arithmetic == SubjectArithmetic::kFp32) ways.push_back({SubjectArithmetic::kWinograd});
  if (options.find) ways.insert(ways.end(), others.begin(), others.end());
  CallArithmetic as = own;
  PLUMB_ASSIGN_OR_RETURN(RunReport report, judging.First(ways, &as));
  Judgement judgement;
  judgement.verdict = report.verdict;
  judgement.computed_as = as.Name();
  const bool off = report.verdict == Verdict::kWrong || report.verdict == Verdict::kGrey;
  if (off && options.causes) {
    PLUMB_ASSIGN_OR_RETURN(report, judging.By(own, true));
  }
  FillWords(report, &judgement);
  if (off && options.causes && judgement.cause.empty()) {
    CallArithmetic otherwise;
    const auto explained = judging.First(others, &otherwise);
    if (explained.ok() && explained->verdict == Verdict::kAligned) judgement.cause = "explained by " + otherwise.Name();
  }
  PLUMB_RETURN_IF_ERROR(FillOutputs(made, given, report, as, &judgement));
  return judgement;
}

}  // namespace plumb
