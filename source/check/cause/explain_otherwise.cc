// Causes: the step, or a larger group that ends in it, computed otherwise than the graph says. Each is confirmed by a
// replay within its own bound.
#include <cmath>
#include <set>

#include "check/cause/accumulator.h"
#include "check/cause/computed_otherwise.h"
#include "check/cause/explainers.h"
#include "check/cause/narrow_rows.h"
#include "check/cause/overflow.h"

namespace plumb {

ReplayedStep StepOf(const Question& q) {
  return {q.record.group, q.record.inputs, *q.scene.blobs, q.record.device, q.record.replay};
}

namespace {

std::optional<Answer> CauseOf(std::string text) {
  if (text.empty()) return std::nullopt;
  return Answer{std::move(text), "", {}};
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

// The sentences of those of `found` that explain the step.
std::string CausesAmong(const std::vector<Alternative>& found, const Question& q, const ReplayedStep& step) {
  constexpr int kMaxCauses = 3;
  int causes = 0;
  std::string text;
  std::set<std::string> families;
  for (const Alternative& a : found) {
    if (families.count(a.family) != 0) continue;
    Way way;
    way.arithmetic = ArithmeticFor(a.group, *q.scene.model);
    UseNumerics(q.record.info.numerics, &way.arithmetic, &way.extra);
    const auto replay = ReplayAlternative(a, step, way.arithmetic, MaxBoundLevel(a.group), way.extra);
    LayerReport tried;
    if (!replay.ok() || !q.judge.JudgeOutputs(q.record, *replay, 0, &tried).ok()) continue;
    const bool overflows = tried.verdict == Verdict::kNotTested && SameInfinities(q.record.device, replay->values);
    if (!(tried.verdict == Verdict::kAligned || overflows) || ++causes > kMaxCauses) continue;
    if (!a.family.empty()) families.insert(a.family);
    text += (causes > 1 ? "; or " : "") + DescribeAlternative(a);
  }
  return text;
}

}  // namespace

std::optional<Answer> ExplainAsOverflow(const Question& q) { return CauseOf(DescribeOverflow(StepOf(q))); }

std::optional<Answer> ExplainAsAlternative(const Question& q) {
  const ReplayedStep step = StepOf(q);
  return CauseOf(CausesAmong(FindAlternatives(step), q, step));
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
    auto answer = CauseOf(CausesAmong(FindFunctions(larger), q, larger));
    if (answer.has_value()) return answer;
  }
  return std::nullopt;
}

}  // namespace plumb
