#include "check/cause/explainers.h"

#include <fmt/core.h>

#include "check/cause/signature.h"
#include "check/subject/arithmetic.h"

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
  std::string text = DescribeDifference(q.record.device[q.output], replay.values[q.output],
                                        !replay.tau.empty() && wide ? &replay.tau[q.output] : nullptr);
  if (!wide && text.rfind("every value is a", 0) == 0) return std::nullopt;  // as all of the subject's are
  return TextOf(std::move(text));
}

void Append(const std::string& text, std::string* reason) { *reason += (reason->empty() ? "" : "; ") + text; }

}  // namespace

const std::vector<Explainer>& AllExplainers() {
  static const auto* explainers = new std::vector<Explainer>{
      {"fused group", Says::kExcuse, ExplainAsFused},  // tried in this order
      {"overflow", Says::kCause, ExplainAsOverflow},
      {"saturated pairs", Says::kCause, ExplainAsSaturated},  // of int8 subjects
      {"alternative", Says::kCause, ExplainAsAlternative},
      {"block of weights", Says::kCause, ExplainAsBlock},
      {"copied parts", Says::kCause, ExplainAsCopied},
      {"accumulator", Says::kCause, ExplainAsAccumulator},
      {"divisor", Says::kCause, ExplainAsShortDivisor},
      {"larger function", Says::kCause, ExplainAsLargerFunction},
      {"earlier tensor", Says::kHint, HintEarlierTensor},
      {"difference", Says::kHint, HintDifference},
  };
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
    report.verdict = Verdict::kGrey;
    report.cause = answer->text;
    report.reason = report.cause + ", on whose own inputs it is within the bound";
    for (OutputReport& output : report.outputs) {
      output.verdict = Verdict::kGrey;
      output.reason = report.reason;
    }
    ++excused_[answer->function];
    return;
  }
}

void Explainers::Explain(StepRecord* record) {
  if (record->report.cause.empty()) NameCause(record);
  if (record->report.cause.empty()) AddHints(record);
}

namespace {

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

void Explainers::NameCause(StepRecord* record) {
  if (NameNarrow(record)) return;
  constexpr int kMaxSteps = 6;        // a run that is wrong everywhere has one cause for all of it:
  constexpr int kMaxOfOneCause = 48;  // then only what answered before is asked
  if (!record->may_be_explained() || ++causes_sought_ > kMaxOfOneCause) return;
  for (const Explainer& explainer : AllExplainers()) {
    if (explainer.says != Says::kCause) continue;
    if (causes_sought_ > kMaxSteps && answered_.count(explainer.name) == 0) continue;
    const std::optional<Answer> answer = explainer.explain(Ask(*record));
    if (!answer.has_value()) continue;
    answered_.insert(explainer.name);
    const std::string type = ProductOf(record->group);
    if (!answer->narrow.empty() && !type.empty()) narrow_[type].insert(answer->narrow);
    return Name(*answer, record);
  }
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
      fmt::format("computed fused: {}; each explains its last layer from the group's own inputs, which is grey: what "
                  "is inside was not used, or another form of the same function",
                  names));
}

}  // namespace plumb
