// SPDX-License-Identifier: Apache-2.0
// The excuse of a step that is off on its own inputs: a larger group, or the step itself when it is one, was computed
// as one function (fused.h) and is within the bound of that, from the group's own inputs.
#include <fmt/core.h>

#include <algorithm>

#include "check/cause/explainers.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

// The smallest gain that the judgement of the only output could have seen.
double Blindness(const LayerReport& layer) { return layer.outputs.size() == 1 ? layer.outputs[0].smallest_fault : 0; }

// a * b + c, which fused multiply-add rounds once.
bool IsContracted(const LayerGroup& group) {
  return group.members.size() == 2 && group.first().kind == OpKind::kMul &&
         (group.last().kind == OpKind::kAdd || group.last().kind == OpKind::kSub);
}

ReferenceOp ExactProduct() {
  ReferenceOp op = GetReferenceOp(OpKind::kMul);
  op.run_with_bound = [](const ReferenceArgs& args, const BoundArgs& bound) {
    std::fill_n(bound.tau[0]->data<double>(), bound.tau[0]->NumElements(), 0.0);
    return GetReferenceOp(OpKind::kMul).run(args);
  };
  return op;
}

// A Round, Floor ... that is exactly what another rule of rounding makes of its own input: of ties, which a larger
// group could be uncertain about, the step's own input leaves no doubt.
bool RoundsByAnotherRule(const StepRecord& record) {
  if (record.group.members.size() != 1 || record.inputs.size() != 1 || record.device.size() != 1) return false;
  const OpKind kind = record.group.first().kind;
  const bool rounds = kind == OpKind::kPlumbRound || kind == OpKind::kFloor || kind == OpKind::kCeil;
  const Tensor &x = record.inputs[0], &y = record.device[0];
  if (!rounds || x.dtype() != DType::kF64 || y.dtype() != DType::kF32 || x.NumElements() != y.NumElements())
    return false;
  for (const FunctionVariant& rule : FunctionVariants()) {
    int64_t i = 0;
    while (rule.family == std::string("round") && i < x.NumElements() &&
           rule.y(x.data<double>()[i]) == static_cast<double>(y.data<float>()[i]))
      ++i;
    if (i > 0 && i == x.NumElements()) return true;
  }
  return false;
}

std::string ListNames(const LayerGroup& group) {
  constexpr size_t kShown = 6;
  std::string names;
  for (size_t i = 0; i < group.members.size() && i < kShown; ++i)
    names += fmt::format("{}{}'", i == 0 ? "'" : ", '", group.members[i]->name);
  return names + (group.members.size() > kShown ? " ..." : "");
}

class FusedTrial {
 public:
  FusedTrial(const Question& q, const LayerGroup& group, std::vector<Tensor> inputs)
      : q_(q), group_(group), inputs_(std::move(inputs)), arithmetic_(ArithmeticFor(group, *q.scene.model)) {}

  // True: aligned under the bound of the function that the group is, or the chained one, and that bound still sees
  // faults. Then answer has its name and how the outputs are judged.
  bool Explains(Answer* answer) {
    if (IsContracted(group_) && ExplainsContracted(answer)) return true;
    const int max_level = MaxBoundLevel(group_);
    for (int level = 0; level <= max_level; ++level) {
      ReplayExtra extra;
      if (!RulesOf(*q_.scene.model).AddInputNoise(q_.scene, group_, inputs_, &extra).ok()) return false;
      auto chained = ReplayWithBound(group_, inputs_, *q_.scene.blobs, arithmetic_, level, extra);
      if (!chained.ok()) return false;
      ReplayResult replay{chained->values, chained->tau};
      Result<std::string> function = std::string();
      if (level == 0 && extra.input_tau.empty())
        function = BoundOfFunction(group_, inputs_, *q_.scene.blobs, arithmetic_, &replay);
      if (function.ok() && !function->empty()) {
        answer->function = *function;
        if (IsAligned(replay, 0, answer)) return true;
      } else if (level == 0) {
        answer->function = NameOfGroup(group_);
      }
      if (IsAligned(*chained, level, answer)) return true;
    }
    return false;
  }

 private:
  bool ExplainsContracted(Answer* answer) {
    ReplayExtra extra;
    extra.changes = {{0, ExactProduct(), {}, {}}};
    const auto once = ReplayWithBound(group_, inputs_, *q_.scene.blobs, arithmetic_, 0, extra);
    answer->function = NameOfGroup(group_);
    return once.ok() && IsAligned(*once, 0, answer);
  }

  bool IsAligned(const ReplayResult& replay, int level, Answer* answer) const {
    constexpr double kSharp = 1e-3, kBlunter = 4;  // relative; f16's own storage is above the former
    return q_.judge.JudgeOutputs(q_.record, replay, level, &answer->judged).ok() &&
           answer->judged.verdict == Verdict::kAligned &&
           Blindness(answer->judged) <= std::max(kSharp, kBlunter * Blindness(q_.record.report));
  }

  const Question& q_;
  const LayerGroup& group_;
  const std::vector<Tensor> inputs_;
  const Arithmetic arithmetic_;
};

}  // namespace

std::optional<Answer> ExplainAsFused(const Question& q) {
  if (!q.scene.earlier || !RulesOf(*q.scene.model).tells_functions()) return std::nullopt;
  if (!IsFloat(q.record.device[0].dtype())) return std::nullopt;  // integers are not rounded
  if (RoundsByAnotherRule(q.record)) return std::nullopt;
  for (const LayerGroup& group : q.fused.Around(q.record.group)) {
    auto inputs = InputsOf(q.scene, group);
    Answer answer;
    if (!inputs.ok() || !FusedTrial(q, group, std::move(*inputs)).Explains(&answer)) continue;
    answer.text = fmt::format("computed as one fused {} ({})", answer.function, ListNames(group));
    answer.why = "on whose own inputs it is within the bound";
    return answer;
  }
  return std::nullopt;
}

}  // namespace plumb
