// Lockstep's explanations of a step that is wrong or grey: a larger group that was computed as one (fused.h), or
// another computation than the graph's (alternatives.h, accumulator.h).
#include <algorithm>
#include <set>

#include "check/cause/accumulator.h"
#include "check/cause/overflow.h"
#include "check/judge/inspect.h"
#include "check/judge/lockstep.h"
#include "check/judge/storage.h"
#include "check/subject/arithmetic.h"

namespace plumb {
namespace {

bool IsOff(const LayerReport& layer) { return layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey; }

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

std::string ListNames(const LayerGroup& group) {
  constexpr size_t kShown = 6;
  std::string names;
  for (size_t i = 0; i < group.members.size() && i < kShown; ++i)
    names += (i == 0 ? "'" : ", '") + group.members[i]->name + "'";
  return names + (group.members.size() > kShown ? " ..." : "");
}

}  // namespace

// Both sides of a group as JudgeStep has them of a step: floats in f64, constants in what the subject stores them in.
Result<std::vector<Tensor>> Lockstep::InputsOf(const LayerGroup& group) const {
  std::vector<Tensor> inputs;
  for (const LayerGroup::Port& port : group.inputs) {
    const BlobInfo& info = scene_.blobs->at(port.blob);
    Tensor value = info.value;
    if (value.empty()) {
      PLUMB_ASSIGN_OR_RETURN(value, scene_.earlier(port.blob));
      if (value.shape() != info.shape) return Status::InvalidArgument("another shape");
    }
    PLUMB_ASSIGN_OR_RETURN(value, Widened(value));
    const bool rounded = ModelOf(options_.arithmetic).weights != DType::kF32 && info.dtype == DType::kF32;
    const DType storage = rounded ? scene_.storage(group.outputs[0].blob) : DType::kF32;
    if (!info.value.empty() && storage != DType::kF32) {
      PLUMB_ASSIGN_OR_RETURN(value, RoundedTo(storage, value));
    }
    inputs.push_back(std::move(value));
  }
  return inputs;
}

// True: aligned under the bound of the function that the group is, or the chained one, and that bound still sees
// faults.
bool Lockstep::TryFused(const StepInfo& info, const LayerGroup& group, const LayerReport& own, LayerReport* tried,
                        std::string* name) {
  constexpr double kSharp = 1e-3, kBlunter = 4;  // relative; f16's own storage is above the former
  const auto inputs = InputsOf(group);
  if (!inputs.ok()) return false;
  const Arithmetic arithmetic = ArithmeticFor(group, ModelOf(options_.arithmetic));
  const auto aligned = [&](const ReplayResult& replay, int level) {
    return JudgeOutputs(info, device_, replay, level, tried).ok() && tried->verdict == Verdict::kAligned &&
           Blindness(*tried) <= std::max(kSharp, kBlunter * Blindness(own));
  };
  if (IsContracted(group)) {
    const ReferenceOp product = ExactProduct();
    ReplayExtra extra;
    extra.member = 0, extra.op = &product;
    const auto once = ReplayWithBound(group, *inputs, *scene_.blobs, arithmetic, 0, extra);
    *name = NameOfGroup(group);
    if (once.ok() && aligned(*once, 0)) return true;
  }
  const int max_level = MaxBoundLevel(group);
  for (int level = 0; level <= max_level; ++level) {
    ReplayExtra extra;
    if (!AddStorageNoise(group, *inputs, &extra).ok()) return false;
    auto chained = ReplayWithBound(group, *inputs, *scene_.blobs, arithmetic, level, extra);
    if (!chained.ok()) return false;
    ReplayResult replay{chained->values, chained->tau};
    Result<std::string> function = std::string();
    if (level == 0 && extra.input_tau.empty())
      function = BoundOfFunction(group, *inputs, *scene_.blobs, arithmetic, &replay);
    if (function.ok() && !function->empty()) {
      *name = *function;
      if (aligned(replay, 0)) return true;
    } else if (level == 0) {
      *name = NameOfGroup(group);
    }
    if (aligned(*chained, level)) return true;
  }
  return false;
}

void Lockstep::ExplainAsFused(const StepInfo& info, LayerReport* layer) {
  const bool int8 = options_.arithmetic == SubjectArithmetic::kInt8;
  if (!IsOff(*layer) || !scene_.earlier || int8 || !changed_.empty() || replayed_.tau.empty()) return;
  if (!IsFloat(device_[0].dtype())) return;  // integers are not rounded
  for (const LayerGroup& group : fused_.Around(*info.group)) {
    LayerReport tried;
    std::string name;
    if (!TryFused(info, group, *layer, &tried, &name)) continue;
    layer->outputs = std::move(tried.outputs);
    layer->verdict = Verdict::kGrey;
    layer->cause = "computed as one fused " + name + " (" + ListNames(group) + ")";
    layer->reason = layer->cause + ", on whose own inputs it is within the bound";
    for (OutputReport& output : layer->outputs) {
      output.verdict = Verdict::kGrey;
      output.reason = layer->reason;
    }
    ++num_fused_[name];
    return;
  }
}

void Lockstep::NoteFused() {
  std::string names;
  for (const auto& [name, count] : num_fused_)
    names += (names.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  if (names.empty()) return;
  report_.notes.push_back("computed fused: " + names +
                          "; each explains its last layer from the group's own inputs, which is grey: what is inside "
                          "was not used, or another "
                          "form of the same function");
}

std::string Lockstep::CausesAmong(const std::vector<Alternative>& found, const StepInfo& info,
                                  const ReplayedStep& step) {
  constexpr int kMaxCauses = 3;
  int causes = 0;
  std::string text;
  std::set<std::string> families;
  for (const Alternative& a : found) {
    if (families.count(a.family) != 0) continue;
    Arithmetic arithmetic = ArithmeticFor(a.group, ModelOf(options_.arithmetic));
    arithmetic.winograd = info.winograd;
    const auto replay = ReplayAlternative(a, step, arithmetic, MaxBoundLevel(a.group));
    LayerReport tried;
    if (!replay.ok() || !JudgeOutputs(info, device_, *replay, 0, &tried).ok()) continue;
    if (tried.verdict != Verdict::kAligned || ++causes > kMaxCauses) continue;
    if (!a.family.empty()) families.insert(a.family);
    text += (causes > 1 ? "; or " : "") + DescribeAlternative(a);
  }
  return text;
}

// The cause is told in the reasons, too, and leaves the verdict.
void Lockstep::NameCause(const StepInfo& info, LayerReport* layer) {
  constexpr int kMaxSteps = 6;  // a run that is wrong everywhere has one cause for all of it
  if (!IsOff(*layer) || !layer->cause.empty() || !changed_.empty() || replayed_.tau.empty()) return;
  if (++causes_sought_ > kMaxSteps) return;
  const ReplayedStep step{*info.group, inputs_, *scene_.blobs, device_, replayed_};
  layer->cause = DescribeOverflow(step);
  if (layer->cause.empty()) layer->cause = CausesAmong(FindAlternatives(step), info, step);
  if (layer->cause.empty()) layer->cause = NameAccumulator(step);
  const bool fused = layer->cause.empty() && scene_.earlier && options_.arithmetic != SubjectArithmetic::kInt8;
  for (const LayerGroup& group : fused ? fused_.Around(*info.group) : std::vector<LayerGroup>()) {
    const auto inputs = InputsOf(group);
    auto replay = inputs.ok() ? ReplayValues(group, *inputs, *scene_.blobs) : Result<ReplayResult>(inputs.status());
    if (!replay.ok()) continue;
    const ReplayedStep larger{group, *inputs, *scene_.blobs, device_, *replay};
    layer->cause = CausesAmong(FindFunctions(larger), info, larger);
    if (!layer->cause.empty()) break;
  }
  if (layer->cause.empty()) return;
  layer->reason += (layer->reason.empty() ? "" : "; ") + layer->cause;
  for (OutputReport& output : layer->outputs) {
    if (output.verdict == layer->verdict) output.reason += (output.reason.empty() ? "" : "; ") + layer->cause;
  }
}

}  // namespace plumb
