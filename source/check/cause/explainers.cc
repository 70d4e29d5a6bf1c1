// SPDX-License-Identifier: Apache-2.0
#include "check/cause/explainers.h"

#include <fmt/core.h>

#include <cmath>

#include "check/cause/accumulator.h"
#include "check/cause/signature.h"
#include "check/core/axis_words.h"
#include "check/integer/integer_faults.h"
#include "check/integer/integer_rules.h"
#include "check/numbers/arithmetic.h"
#include "op/recurrent.h"

namespace plumb {
namespace {

std::optional<Answer> TextOf(std::string text) {
  if (text.empty()) return std::nullopt;
  return Answer(std::move(text));
}

std::optional<Answer> HintEarlierTensor(const Question& q) {
  return TextOf(q.written.EarlierTensor(q.record.info.outputs[q.output].blob, q.record.device[q.output]));
}

std::optional<Answer> HintDifference(const Question& q) {
  const ReplayResult& replay = q.record.replay;
  const bool wide = q.record.info.outputs[q.output].stored == DType::kF32;
  const bool exact = wide || !IsFloat(q.record.device[q.output].dtype());
  const bool known = exact && q.output < replay.tau.size() && replay.tau[q.output].dtype() == DType::kF64;
  std::string text =
      DescribeDifference(q.record.device[q.output], replay.values[q.output], known ? &replay.tau[q.output] : nullptr);
  const bool few_bits = text.rfind("every value is a", 0) == 0 || text.rfind("every value has", 0) == 0;
  if (!wide && few_bits) return std::nullopt;  // as all of the subject's are
  return TextOf(InOwnAxes(q.record, q.output, std::move(text)));
}

// A QuantizeLinear whose integers all lie on one side of a tie or the other.
bool OnlyFlips(const StepRecord& record) {
  const auto& members = record.group.members;
  if (members.size() != 1 || members[0]->kind != OpKind::kPlumbQuantizeLinear) return false;
  if (record.report.verdict != Verdict::kWrong || record.replay.tau.size() != record.device.size()) return false;
  for (size_t o = 0; o < record.device.size(); ++o) {
    const Tensor &device = record.device[o], &own = record.replay.values[o], &tau = record.replay.tau[o];
    if (IsFloat(device.dtype()) || tau.dtype() != DType::kF64) return false;
    for (int64_t i = 0; i < device.NumElements(); ++i) {
      if (!(std::fabs(device.ValueAt(i) - own.ValueAt(i)) <= tau.data<double>()[i])) return false;
    }
  }
  return true;
}

// Integers of which too few differ, by too little, for causes other than a kernel's: one fits by chance.
bool TellsNothing(const StepRecord& record) {
  constexpr double kFewestBits = 14;
  for (size_t o = 0; o < record.device.size(); ++o) {
    if (BitsOfDifference(record, o) >= kFewestBits) return false;
  }
  return !record.device.empty();
}

void Append(const std::string& text, std::string* reason) { *reason += (reason->empty() ? "" : "; ") + text; }

}  // namespace

std::string InOwnAxes(const StepRecord& record, size_t output, std::string text) {
  const auto& members = record.group.members;
  const auto* p = members.size() == 1 ? dynamic_cast<const RecurrentParam*>(members[0]->param.get()) : nullptr;
  if (p == nullptr || p->layout != 0) return text;
  const std::string usual = AxisWord(0, 4), own = output == 0 ? "time step" : "direction";
  for (size_t at = 0; (at = text.find(usual, at)) != std::string::npos; at += own.size())
    text.replace(at, usual.size(), own);
  return text;
}

const std::vector<Explainer>& AllExplainers() {
  // A row a line.
  // clang-format off
  static const auto* explainers = new std::vector<Explainer>{
      {"fused group", Says::kExcuse, ExplainAsFused},  // tried in this order
      {"scale of zeros", Says::kExcuse, ExplainAsZeroScale},
      {"overflow", Says::kCause, ExplainAsOverflow},
      {"integer fault", Says::kCause, ExplainAsIntegerFault},
      {"saturated pairs", Says::kCause, ExplainAsSaturated},  // of integers
      {"alternative", Says::kCause, ExplainAsAlternative},
      {"other weights", Says::kCause, ExplainAsOtherWeights},
      {"block of weights", Says::kCause, ExplainAsBlock},
      {"copied parts", Says::kCause, ExplainAsCopied},
      {"accumulator", Says::kCause, ExplainAsAccumulator},
      {"integer factor", Says::kCause, ExplainAsIntegerFactor},
      {"divisor", Says::kCause, ExplainAsShortDivisor},
      {"larger function", Says::kCause, ExplainAsLargerFunction},
      {"general", Says::kCause, ExplainAsGeneral},
      {"earlier tensor", Says::kHint, HintEarlierTensor},
      {"difference", Says::kHint, HintDifference},
  };
  // clang-format on
  return *explainers;
}

Explainers::Explainers(const Scene* scene, const StepJudge* judge, const WrittenBlobs* written)
    : scene_(scene), judge_(judge), written_(written) {
  if (scene->earlier) fused_ = FusedGroups(*scene->graph, *scene->blobs);
}

void Explainers::Excuse(StepRecord* record) {
  if (!record->may_be_explained()) return;
  for (const Explainer& explainer : AllExplainers()) {
    if (explainer.says != Says::kExcuse) continue;
    std::optional<Answer> answer = explainer.explain(Ask(*record));
    if (!answer.has_value()) continue;
    LayerReport& report = record->report;
    report.outputs = std::move(answer->judged.outputs);
    report.verdict = answer->judged.verdict;
    report.cause = answer->text;
    report.reason = report.cause + ", " + answer->why;
    for (OutputReport& output : report.outputs) {
      output.verdict = report.verdict;
      output.reason = report.reason;
    }
    if (!answer->function.empty()) ++excused_[answer->function];
    return;
  }
}

namespace {

// Each rule of rounding is a cause: what none of them explains, errors in front of the rounding do.
void ExcuseFlips(StepRecord* record) {
  constexpr char kWhy[] = "by no rule of rounding: errors of what is rounded";
  record->report.verdict = Verdict::kGrey;
  Append(kWhy, &record->report.reason);
  for (OutputReport& output : record->report.outputs) {
    if (output.verdict != Verdict::kWrong) continue;
    output.verdict = Verdict::kGrey;
    Append(kWhy, &output.reason);
  }
}

// The cause is told in the reasons, too, and leaves the verdict.
void Name(const Answer& answer, StepRecord* record) {
  LayerReport& report = record->report;
  report.cause = answer.text;
  Append(report.cause, &report.reason);
  for (OutputReport& output : report.outputs) {
    if (output.verdict == report.verdict) Append(report.cause, &output.reason);
  }
  record->narrow = answer.narrow;
  if (!answer.narrow.empty() && !answer.and_more) record->as_narrow = answer.judged;
}

}  // namespace

bool Explainers::Accuse(StepRecord* record) const {
  constexpr double kMayDrift = 0.5;  // R of sums that cut in 8 parts: 0.85 to 0.94; healthy ones reach 0.6
  LayerReport& report = record->report;
  const bool judged = report.outputs.size() == 1 && record->changed.empty() && !record->replay.tau.empty();
  if (!judged || record->info.outputs[0].stored != DType::kF32 || scene_->model->blobs != DType::kF32) return false;
  if (!(report.outputs[0].rms_excess > kMayDrift) || !std::isfinite(report.outputs[0].rms_excess)) return false;
  const std::string cause = NameCuttingF32(StepOf(Ask(*record)));
  if (cause.empty()) return false;
  report.verdict = report.outputs[0].verdict = Verdict::kWrong;
  report.outputs[0].one_sided = cause;
  Name(Answer(cause), record);
  return true;
}

void Explainers::Explain(StepRecord* record) {
  const bool asked = record->report.cause.empty() && NameCause(record);
  if (record->report.cause.empty() && asked && OnlyFlips(*record)) ExcuseFlips(record);
  if (record->report.cause.empty()) AddHints(record);
}

bool Explainers::NameCause(StepRecord* record) {
  if (NameNarrow(record) || NameUnbounded(record)) return true;
  constexpr int kMaxSteps = 6;        // a run that is wrong everywhere has one cause for all of it:
  constexpr int kMaxOfOneCause = 48;  // then only what answered before is asked

  const bool every = OnlyFlips(*record);  // of one layer: costs little, and decides whether it is wrong
  if (!record->may_be_explained() || (!every && ++causes_sought_ > kMaxOfOneCause)) return false;
  const bool nothing = !every && TellsNothing(*record);
  bool all = true;
  for (const Explainer& explainer : AllExplainers()) {
    if (explainer.says != Says::kCause) continue;
    // Those two have evidence of their own.
    if (nothing && explainer.explain != ExplainAsIntegerFault && explainer.explain != ExplainAsSaturated) continue;
    if (!every && causes_sought_ > kMaxSteps && answered_.count(explainer.name) == 0) {
      all = false;
      continue;
    }
    const std::optional<Answer> answer = explainer.explain(Ask(*record));
    if (!answer.has_value()) continue;
    answered_.insert(explainer.name);
    const std::string type = ProductOf(record->group);
    if (!answer->narrow.empty() && !type.empty()) narrow_[type].insert(answer->narrow);
    Name(*answer, record);
    return true;
  }
  return all;
}

// Integers that a rule gives with one fault need no bound.
bool Explainers::NameUnbounded(StepRecord* record) {
  constexpr int kMost = 48;
  const bool wrong = record->report.verdict == Verdict::kWrong && record->changed.empty();
  if (!wrong || record->may_be_explained() || ++unbounded_ > kMost) return false;
  std::optional<Answer> answer = ExplainAsIntegerFault(Ask(*record));
  if (!answer.has_value()) answer = ExplainAsIntegerFactor(Ask(*record));
  if (answer.has_value()) Name(*answer, record);
  return answer.has_value();
}

bool Explainers::NameNarrow(StepRecord* record) {
  const auto known = narrow_.find(ProductOf(record->group));
  if (!record->may_be_explained() || known == narrow_.end()) return false;
  constexpr int kMaxMore = 12;  // searches
  for (const auto& explain : {ExplainAsNarrow, ExplainAsNarrowAndMore}) {
    if (explain == ExplainAsNarrowAndMore && ++more_sought_ > kMaxMore) return false;
    for (const std::string& narrow : known->second) {
      const std::optional<Answer> answer = explain(Ask(*record), narrow);
      if (!answer.has_value()) continue;
      Name(*answer, record);
      return true;
    }
  }
  return false;
}

std::string Explainers::NameIntegers(const StepRecord& record) const {
  const std::optional<Answer> answer = ExplainAsIntegerFault(Ask(record));
  return answer.has_value() ? answer->text : "";
}

void Explainers::AddHints(StepRecord* record) const {
  const OutputReport* worst = record->report.Worst();
  for (size_t i = 0; i < record->report.outputs.size(); ++i) {
    OutputReport& output = record->report.outputs[i];
    if (output.verdict != Verdict::kWrong) continue;
    for (const Explainer& explainer : AllExplainers()) {
      if (explainer.says != Says::kHint) continue;
      const std::optional<Answer> answer = explainer.explain(Ask(*record, i));
      if (!answer.has_value()) continue;
      Append(answer->text, &output.reason);
      if (&output == worst && record->changed.empty()) record->report.reason = output.reason;
      break;
    }
  }
}

void Explainers::AddNotes(RunReport* report) const {
  std::string names;
  for (const auto& [name, count] : excused_) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", count, name);
  if (names.empty()) return;
  report->notes.push_back(
      fmt::format("computed fused: {}; each explains its last layer from the group's own inputs, within the bound of "
                  "that: what is inside was not used, or another form of the same function",
                  names));
}

}  // namespace plumb
