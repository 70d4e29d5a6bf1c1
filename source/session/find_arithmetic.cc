// SPDX-License-Identifier: Apache-2.0
#include "session/find_arithmetic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "check/core/coverage.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/first_products.h"
#include "op/core/op.h"

namespace plumb {
namespace {

using A = SubjectArithmetic;

// Wrong rather than grey, grey rather than aligned.
int Badness(const RunReport& run) { return 2 * run.Count(Verdict::kWrong) + run.Count(Verdict::kGrey); }

bool IsOffLayer(const LayerReport& layer) {
  return layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey;
}

// What is stored to one side is so in every arithmetic, and a wider bound would only hide it: it says nothing.
bool IsBeyond(const LayerReport& layer) {
  const OutputReport* worst = layer.Worst();
  return IsOffLayer(layer) && (worst == nullptr || worst->one_sided.empty());
}

int CountBeyond(const RunReport& run) {
  return static_cast<int>(std::count_if(run.layers.begin(), run.layers.end(), IsBeyond));
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

// By operator: how many layers have weights of half of their range, of all that were judged.
void NoteHalfOfRange(const Graph& graph, const Int8WeightsOf& weights, RunReport* run) {
  std::map<std::string, int> layers;
  for (const Layer& layer : graph.layers) {
    if (weights.layers.count(layer.index) != 0) ++layers[layer.type];
  }
  const auto all = ProductStepsOf(graph, *run);
  for (const auto& [type, count] : layers) {
    const auto judged = all.find(type);
    const int of = judged == all.end() ? count : static_cast<int>(judged->second.judged());
    run->computed_as.push_back({"int8 weights of half of their range", {"int8"}, type, count, of});
  }
}

class ArithmeticSearch {
 public:
  ArithmeticSearch(SubjectOptions options, SubjectJudge* judge) : options_(std::move(options)), judge_(*judge) {}

  // By the values when these are f16 or bf16; by the layers that are beyond fp32 but not beyond other products.
  Result<Judged> Find(const PairedBlobs& blobs) {
    if (blobs.half_storage().format() != DType::kF32) return AsHalf(blobs.half_storage());
    if (blobs.of_quantised_copy()) return AsInt8("found: it is of a quantised copy");
    if (blobs.maybe_int8()) {
      PLUMB_ASSIGN_OR_RETURN(RunReport plain, judge_.Until(Floats(false), IsOffLayer));
      if (Badness(plain) > 0) return AsInt8("found: its tensors lie on grids of 256 steps");
      return AsFloats(std::move(plain));
    }
    PLUMB_ASSIGN_OR_RETURN(RunReport plain, judge_.All(Floats(true)));
    return AsFloats(std::move(plain));
  }

  Result<Judged> As(A declared) {
    if (declared == A::kInt8) return AsInt8("declared");
    if (declared == A::kNarrowProducts) return AsNarrow();
    return AsDeclared(declared);
  }

 private:
  SubjectOptions With(A arithmetic, bool causes, bool inherited = true) const {
    SubjectOptions options = options_;
    options.check.arithmetic = arithmetic;
    options.check.causes = options.check.causes && causes;
    options.check.inherited = options.check.inherited && inherited;
    return options;
  }

  // Says why of what is off in the report that holds.
  Result<RunReport> WithCauses(const SubjectOptions& without, RunReport report) {
    if (!options_.check.causes || Badness(report) == 0) return report;
    SubjectOptions options = without;
    options.check.causes = true;
    const SomeSteps off = StepsThat(report, IsOffLayer);
    PLUMB_ASSIGN_OR_RETURN(RunReport explained, judge_.Again(options, report, off));
    if (explained.Count(Verdict::kWrong) == report.Count(Verdict::kWrong)) return explained;
    return judge_.All(options);  // a cause that makes a step grey changes what wrong ones do to the outputs
  }

  SubjectOptions Floats(bool causes) const {
    SubjectOptions options = With(A::kFp32, causes);
    options.check.find_products = true;
    return options;
  }

  static Judged AsFloats(RunReport plain) {
    Judged judged{std::move(plain), A::kFp32, "found: nothing speaks against it", {}};
    if (judged.report.found_because.empty()) return judged;
    judged.arithmetic = judged.report.found_arithmetic;
    judged.how = "found: " + judged.report.found_because;
    return judged;
  }

  // Sums in 16 bits are looked for where blobs of them are declared.
  Result<Judged> AsDeclared(A declared) {
    const bool half = ModelOf(declared).is_half();
    const SubjectOptions options = With(declared, !half);
    PLUMB_ASSIGN_OR_RETURN(RunReport report, judge_.All(options));
    Judged judged{std::move(report), declared, "declared", {}};
    if (!half) return judged;
    const int beyond = CountBeyond(judged.report);
    if (beyond >= 2) {
      PLUMB_ASSIGN_OR_RETURN(const bool sums, TryNarrowSums(declared, beyond, judged.report, &judged));
      if (sums) return judged;
    }
    PLUMB_ASSIGN_OR_RETURN(judged.report, WithCauses(options, std::move(judged.report)));
    return judged;
  }

  // Declared: the causes say which products; other algorithms are found beside.
  Result<Judged> AsNarrow() {
    SubjectOptions options = With(A::kNarrowProducts, true);
    options.check.find_products = true;
    PLUMB_ASSIGN_OR_RETURN(RunReport report, judge_.All(options));
    const std::string found = report.found_because.empty() ? "no layer is so computed" : report.found_because;
    return Judged{std::move(report), A::kNarrowProducts, "declared; " + found, {}};
  }

  // The only layer that is beyond 16 bits is a convolution, and values of f32 in it would explain it: Winograd's
  // algorithm, which runtimes choose layer by layer, or an input that was not rounded yet.
  Status NoteLoneWinograd(A chains, RunReport* half) {
    const auto lone = std::find_if(half->layers.begin(), half->layers.end(), IsBeyond);
    if (!MayBeWinograd(judge_.graph(), *lone)) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const RunReport wide,
                           judge_.Again(With(chains, false), *half, StepsThat(*half, IsOffLayer)));
    if (CountBeyond(wide) > 0) return Status::Ok();
    lone->verdict = Verdict::kGrey;
    lone->reason = fmt::format(
        "Winograd's algorithm, or an input that was not rounded yet, would explain it "
        "(SessionOptions::arithmetic {})",
        ArithmeticName(chains));
    for (OutputReport& output : lone->outputs) {
      if (output.verdict >= Verdict::kGrey) output.reason = lone->reason;
      output.verdict = std::min(output.verdict, Verdict::kGrey);
    }
    ConcludeRun(judge_.graph().outputs, options_.check.min_tested, half);
    return Status::Ok();
  }

  // Several layers are beyond 16 bits in any other way: sums that are rounded to them, too, where that explains most.
  // `half`: the run of that arithmetic.
  Result<bool> TryNarrowSums(A half_arithmetic, int beyond, const RunReport& half, Judged* judged) {
    SubjectOptions options = With(half_arithmetic, false);
    options.check.find_products = true;
    const SomeSteps off = StepsThat(half, IsOffLayer);
    PLUMB_ASSIGN_OR_RETURN(RunReport sums, judge_.Again(options, half, off));
    if (sums.found_because.empty() || 2 * CountBeyond(sums) >= beyond) return false;
    options.check.causes = options_.check.causes;
    PLUMB_ASSIGN_OR_RETURN(sums, judge_.All(options));
    judged->how += "; " + sums.found_because;
    judged->arithmetic = half_arithmetic;
    judged->report = std::move(sums);
    return true;
  }

  // Values of 16 bits, in all of the dump or by some operators: computed with them, or handed on in f32 with weights of
  // 16 bits, or in fp32 altogether with a dump that was rounded. The first, which is the narrowest, unless several
  // layers are beyond it and one of the others explains most of these, or one is and has no like that shows it to be a
  // fault.
  Result<Judged> AsHalf(const HalfStorage& storage) {
    const bool f16 = storage.format() == DType::kF16;
    const std::string found = "found: " + storage.because();
    const A computed = f16 ? A::kFp16 : A::kBf16, chains = f16 ? A::kChainedF16 : A::kChainedBf16;
    PLUMB_ASSIGN_OR_RETURN(RunReport first, judge_.All(With(computed, false)));
    Judged best{first, computed, found, {}};
    const int beyond = CountBeyond(first);
    const bool lone = beyond == 1 && HasExactLike(judge_.graph(), first);
    int left = beyond;
    for (const A wider : {f16 ? A::kStoredF16 : A::kStoredBf16, chains}) {
      if (beyond == 0 || lone) break;
      // Most are to be explained, and no fewer than by the best so far.
      const int most = std::min(left, (beyond - 1) / 2);
      PLUMB_ASSIGN_OR_RETURN(RunReport wide, JudgeWider(wider, most, first));
      const int now = CountBeyond(wide);
      if (now > most) continue;
      if (now == left && SumOfExcess(wide) >= SumOfExcess(best.report)) continue;
      left = now;
      best = {std::move(wide),
              wider,
              fmt::format("{}; {} layers are beyond {}, {} beyond this", found, beyond, ArithmeticName(computed), now),
              {}};
    }
    if (left > 0 && !lone) {
      PLUMB_ASSIGN_OR_RETURN(const bool sums, TryNarrowSums(computed, left, first, &best));
      if (sums) return best;
    }
    PLUMB_ASSIGN_OR_RETURN(best.report, WithCauses(With(best.arithmetic, false), std::move(best.report)));
    if (lone) PLUMB_RETURN_IF_ERROR(NoteLoneWinograd(chains, &best.report));
    return best;
  }

  // What is off in the run of 16 bits, in a wider way, until more than `most` are beyond it; else all steps.
  Result<RunReport> JudgeWider(A wider, int most, const RunReport& first) {
    const SubjectOptions options = With(wider, false);
    int beyond = 0;
    const auto ends = [&](const LayerReport& layer) { return IsBeyond(layer) && ++beyond > most; };
    PLUMB_ASSIGN_OR_RETURN(RunReport wide, judge_.Again(options, first, StepsThat(first, IsOffLayer), ends));
    return beyond > most ? std::move(wide) : judge_.All(options);
  }

  // With weights as most quantisers round them; where layers are beyond that, with what a few of them say, then with
  // weights that nobody knows. Causes are sought of what holds at the end.
  Result<Judged> AsInt8(const std::string& how) {
    const auto with = [&](const Int8WeightsOf& weights) {
      SubjectOptions options = With(A::kInt8, false);
      options.check.int8_weights = weights;
      return options;
    };
    Int8WeightsOf held;
    PLUMB_ASSIGN_OR_RETURN(RunReport best, judge_.All(with(held)));
    const auto few = [&](const Int8WeightsOf& weights, const std::vector<std::string>& layers) {
      return judge_.Again(with(weights), best, StepsThat(best, [&](const LayerReport& layer) {
                            return std::find(layers.begin(), layers.end(), layer.step.name) != layers.end();
                          }));
    };
    PLUMB_ASSIGN_OR_RETURN(const Int8WeightsOf found, FindInt8Weights(judge_.graph(), best, few));
    // Only steps of an operator whose weights are others are judged otherwise.
    const auto hold_if_better = [&](const Int8WeightsOf& weights) -> Status {
      const SomeSteps changed = StepsThat(best, [&](const LayerReport& layer) {
        return std::any_of(layer.step.members.begin(), layer.step.members.end(), [&](const MemberInfo& member) {
          return weights.operators.count(member.type) + weights.layers.count(member.index) != 0;
        });
      });
      PLUMB_ASSIGN_OR_RETURN(const RunReport tried, judge_.Again(with(weights), best, changed));
      if (Badness(tried) >= Badness(best)) return Status::Ok();
      held = weights;
      PLUMB_ASSIGN_OR_RETURN(best, judge_.All(with(held)));
      return Status::Ok();
    };
    if (!found.operators.empty()) PLUMB_RETURN_IF_ERROR(hold_if_better(found));
    PLUMB_ASSIGN_OR_RETURN(const Int8WeightsOf half, FindHalfOfRange(judge_.graph(), best, held, few));
    if (!half.layers.empty()) PLUMB_RETURN_IF_ERROR(hold_if_better(half));
    const Int8WeightsOf unknown = UnknownWhereMostAreBeyond(judge_.graph(), best, {found.operators, held.layers});
    if (std::any_of(unknown.operators.begin(), unknown.operators.end(),
                    [](const auto& of_type) { return of_type.second.steps == 0; }))
      PLUMB_RETURN_IF_ERROR(hold_if_better(unknown));
    if (CountBeyond(best) > 0) {
      PLUMB_ASSIGN_OR_RETURN(best, WithCauses(with(held), std::move(best)));
    }
    NoteHalfOfRange(judge_.graph(), held, &best);
    return Judged{std::move(best), A::kInt8, fmt::format("{}; {}", how, Describe(held)), held};
  }

  const SubjectOptions options_;
  SubjectJudge& judge_;
};

}  // namespace

Result<Judged> JudgeAsComputed(std::optional<SubjectArithmetic> declared, const PairedBlobs& blobs,
                               const SubjectOptions& options, SubjectJudge* judge) {
  ArithmeticSearch search(options, judge);
  return declared ? search.As(*declared) : search.Find(blobs);
}

}  // namespace plumb
