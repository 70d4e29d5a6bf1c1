// SPDX-License-Identifier: Apache-2.0
// Causes: the step, or a larger group that ends in it, computed otherwise than the graph says. Each is confirmed by a
// replay within its own bound.
#include <fmt/core.h>

#include <cmath>
#include <set>

#include "check/cause/accumulator.h"
#include "check/cause/computed_otherwise.h"
#include "check/cause/explainers.h"
#include "check/cause/narrow_rows.h"
#include "check/cause/overflow.h"
#include "check/numbers/arithmetic.h"

namespace plumb {

ReplayedStep StepOf(const Question& q) {
  return {q.record.group, q.record.inputs, *q.scene.blobs, q.record.device, q.record.replay};
}

namespace {

std::optional<Answer> CauseOf(std::string text) {
  if (text.empty()) return std::nullopt;
  return Answer(std::move(text));
}

// Whether all that the device wrote is infinite or NaN, and the replay's the very same: what no bound can judge.
bool SameInfinities(const std::vector<Tensor>& device, const std::vector<Tensor>& values) {
  for (size_t o = 0; o < device.size(); ++o) {
    for (int64_t i = 0; i < device[o].NumElements(); ++i) {
      const double x = device[o].ValueAt(i), y = values[o].ValueAt(i);
      if (std::isfinite(x) || !(x == y || (std::isnan(x) && std::isnan(y)))) return false;
    }
  }
  return true;
}

// The step as the alternative, its products as the device says or as another model has them.
Result<LayerReport> JudgeAlternative(const Alternative& a, const Question& q, const ReplayedStep& step,
                                     const NumericModel* products, ReplayResult* replay) {
  Way way;
  way.arithmetic = ArithmeticFor(a.group, *q.scene.model);
  UseNumerics(q.record.info.numerics, &way.arithmetic, &way.extra);
  if (products != nullptr && !UseOtherProducts(a.group, *products, &way.arithmetic, &way.extra))
    return Status::NotSupported("no such products");
  PLUMB_ASSIGN_OR_RETURN(*replay, ReplayAlternative(a, step, way.arithmetic, MaxBoundLevel(a.group), way.extra));
  // Weights that are uncertain widen tau, and what they do is a slope of their channel.
  std::vector<Tensor> steady;
  if (!a.narrow.empty()) {
    Alternative certain = a;
    for (MemberChange& change : certain.changes) change.writes = nullptr;
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult narrower,
                           ReplayAlternative(certain, step, way.arithmetic, MaxBoundLevel(a.group), way.extra));
    steady = narrower.tau;
  }
  LayerReport tried;
  PLUMB_RETURN_IF_ERROR(q.judge.JudgeOutputs(q.record, *replay, 0, &tried, steady));
  return tried;
}

}  // namespace

std::optional<Answer> CausesAmong(const std::vector<Alternative>& found, const Question& q, const ReplayedStep& step) {
  constexpr int kMaxCauses = 3;
  int causes = 0;
  Answer answer;
  std::set<std::string> families;
  for (const Alternative& a : found) {
    if (families.count(a.family) != 0) continue;
    ReplayResult replay;
    auto tried = JudgeAlternative(a, q, step, nullptr, &replay);
    // Weights of few bits do not keep a runtime from Winograd's algorithm.
    const bool winograd =
        !a.narrow.empty() && q.scene.finds_products && tried.ok() && tried->verdict != Verdict::kAligned;
    if (winograd) tried = JudgeAlternative(a, q, step, &ModelOf(SubjectArithmetic::kWinograd), &replay);
    if (!tried.ok()) continue;
    const bool overflows = tried->verdict == Verdict::kNotTested && SameInfinities(q.record.device, replay.values);
    if (!(tried->verdict == Verdict::kAligned || overflows) || ++causes > kMaxCauses) continue;
    if (!a.family.empty()) families.insert(a.family);
    Alternative named = a;
    if (winograd) named.computed += ", by Winograd's algorithm";
    answer.text += (causes > 1 ? "; or " : "") + DescribeAlternative(named);
    if (a.narrow.empty() || tried->verdict != Verdict::kAligned || !answer.narrow.empty()) continue;
    answer.narrow = a.narrow;
    answer.judged = std::move(*tried);
  }
  if (answer.text.empty()) return std::nullopt;
  return answer;
}

std::optional<Answer> ExplainAsOverflow(const Question& q) { return CauseOf(DescribeOverflow(StepOf(q))); }

std::optional<Answer> ExplainAsAlternative(const Question& q) {
  const ReplayedStep step = StepOf(q);
  return CausesAmong(FindAlternatives(step), q, step);
}

std::optional<Answer> ExplainAsGeneral(const Question& q) {
  const ReplayedStep step = StepOf(q);
  return CausesAmong(FindGeneral(step), q, step);
}

std::optional<Answer> ExplainAsNarrow(const Question& q, const std::string& narrow) {
  const ReplayedStep step = StepOf(q);
  return CausesAmong(FindNarrow(step, narrow), q, step);
}

std::optional<Answer> ExplainAsNarrowAndMore(const Question& q, const std::string& narrow) {
  const ReplayedStep step = StepOf(q);
  for (const Alternative& base : FindNarrow(step, narrow)) {
    ReplayExtra extra;
    extra.changes = base.changes;
    const auto replay = ReplayValues(base.group, step.inputs, step.blobs, extra);
    if (!replay.ok()) continue;
    const ReplayedStep narrowed{base.group, step.inputs, step.blobs, step.device, *replay};
    std::vector<Alternative> more = FindAlternatives(narrowed);
    for (Alternative& a : more) {
      a.computed = fmt::format("with {} and {}", narrow, a.computed);
      for (const MemberChange& change : base.changes) {  // of members that the alternative left in their places
        const auto at = static_cast<size_t>(change.member);
        const bool kept = at < a.group.members.size() && a.group.members[at] == base.group.members[at];
        if (kept) a.changes.push_back(change);
      }
    }
    auto answer = CausesAmong(more, q, narrowed);
    if (!answer.has_value()) continue;
    answer->narrow = narrow;
    answer->and_more = true;
    return answer;
  }
  return std::nullopt;
}

std::optional<Answer> ExplainAsAccumulator(const Question& q) {
  const std::string rows = NameNarrowRows(StepOf(q));
  return CauseOf(rows.empty() ? NameAccumulator(StepOf(q)) : rows);
}

std::optional<Answer> ExplainAsLargerFunction(const Question& q) {
  if (!q.scene.earlier || !RulesOf(*q.scene.model).tells_functions()) return std::nullopt;
  for (const LayerGroup& group : q.fused.Around(q.record.group)) {
    const auto inputs = InputsOf(q.scene, group);
    auto replay = inputs.ok() ? ReplayValues(group, *inputs, *q.scene.blobs) : Result<ReplayResult>(inputs.status());
    if (!replay.ok()) continue;
    const ReplayedStep larger{group, *inputs, *q.scene.blobs, q.record.device, *replay};
    auto answer = CausesAmong(FindFunctions(larger), q, larger);
    if (answer.has_value()) return answer;
  }
  return std::nullopt;
}

}  // namespace plumb
