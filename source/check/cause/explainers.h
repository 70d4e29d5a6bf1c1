// SPDX-License-Identifier: Apache-2.0
// Explainers: what may explain a step that is wrong or grey. One table (explainers.cc) lists them in the order in which
// they are asked; the first of a kind that answers counts. An excuse makes the step what it is as that computation
// (of the graph's own values in another way), a cause names what was computed instead and leaves the verdict, a hint
// says what a wrong output looks like where no cause is known. A new one is a function of a Question and a row of the
// table; what single layers are known to be computed as is a row of known_ways.h's tables instead.
#ifndef PLUMB_CHECK_CAUSE_EXPLAINERS_H_
#define PLUMB_CHECK_CAUSE_EXPLAINERS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check/cause/computed_otherwise.h"
#include "check/cause/fused.h"
#include "check/judge/scene.h"
#include "check/judge/step_judge.h"
#include "check/judge/step_record.h"
#include "check/judge/written_blobs.h"

namespace plumb {

struct Question {
  const Scene& scene;
  const StepJudge& judge;
  const FusedGroups& fused;
  const WrittenBlobs& written;
  const StepRecord& record;
  size_t output = 0;  // that a hint is asked of
};

ReplayedStep StepOf(const Question& question);

struct Answer {
  Answer() = default;
  explicit Answer(std::string said) : text(std::move(said)) {}
  std::string text;
  std::string function;   // of an excuse: "LayerNorm", by which it is counted for the run; "": it is not
  std::string why;        // of an excuse: why that is right
  LayerReport judged;     // of an excuse, or of products in fewer bits: the outputs as that computation
  std::string narrow;     // Proposal::narrow
  bool and_more = false;  // the products are so, but something else is, too: nothing is `judged`
};

enum class Says { kExcuse, kCause, kHint };

struct Explainer {
  const char* name;
  Says says;
  std::optional<Answer> (*explain)(const Question& question);
};

// In the order in which they are asked.
const std::vector<Explainer>& AllExplainers();

class Explainers {
 public:
  Explainers() = default;
  // All of them outlive it.
  Explainers(const Scene* scene, const StepJudge* judge, const WrittenBlobs* written);

  // Wrong within its bound: sums of f32 that drift because each addition is cut off. Whether it is.
  bool Accuse(StepRecord* record) const;
  void Excuse(StepRecord* record);
  // Cause and hints, also in the reasons.
  void Explain(StepRecord* record);
  // Cause by what named another layer of the operator: products in fewer bits. False: none.
  bool NameUnbounded(StepRecord* record);
  bool NameNarrow(StepRecord* record);
  // The fault of a kernel that gives the integers of a step to the last one, or "".
  std::string NameIntegers(const StepRecord& record) const;
  // What was excused, counted for the run.
  void AddNotes(RunReport* report) const;

 private:
  Question Ask(const StepRecord& record, size_t output = 0) const {
    return {*scene_, *judge_, fused_, *written_, record, output};
  }
  // Whether all that may name one were asked.
  bool NameCause(StepRecord* record);
  void AddHints(StepRecord* record) const;

  const Scene* scene_ = nullptr;
  const StepJudge* judge_ = nullptr;
  const WrittenBlobs* written_ = nullptr;
  FusedGroups fused_;
  int causes_sought_ = 0, more_sought_ = 0, unbounded_ = 0;
  std::set<std::string> answered_;                       // explainers that named a cause
  std::map<std::string, std::set<std::string>> narrow_;  // by operator, what products in fewer bits were named as
  std::map<std::string, int> excused_;                   // by function
};

// explain_fused.cc: a larger group that was computed as one although the subject has tensors for what lies inside.
std::optional<Answer> ExplainAsFused(const Question& question);
// explain_zero_scale.cc: a tensor of zeros was quantised by 1 in place of 0.
std::optional<Answer> ExplainAsZeroScale(const Question& question);
// explain_block.cc: one block of weights has another scale.
std::optional<Answer> ExplainAsBlock(const Question& question);
// The words of signature.h and explain_copied.cc, where a step's first axis is another one: a recurrent layer's Y has
// the time there, its states have the directions.
std::string InOwnAxes(const StepRecord& record, size_t output, std::string text);
// explain_copied.cc: parts of an output hold the values of others.
std::optional<Answer> ExplainAsCopied(const Question& question);
// explain_integer.cc: a kernel's rule with one fault, to the integer.
std::optional<Answer> ExplainAsIntegerFault(const Question& question);
std::optional<Answer> ExplainAsIntegerFactor(const Question& question);
// explain_saturated.cc: 8-bit products that were added in 16 bits.
std::optional<Answer> ExplainAsSaturated(const Question& question);
// explain_weights.cc: a product has the weights of another layer.
std::optional<Answer> ExplainAsOtherWeights(const Question& question);
// explain_divisor.cc: a reciprocal or root of 11 to 14 bits.
std::optional<Answer> ExplainAsShortDivisor(const Question& question);
// explain_otherwise.cc: another computation than the graph's, of the step (computed_otherwise.h) or of a larger group.
// Those of `found` that explain the step; nothing where none does.
std::optional<Answer> CausesAmong(const std::vector<Alternative>& found, const Question& question,
                                  const ReplayedStep& step);
std::optional<Answer> ExplainAsOverflow(const Question& question);
std::optional<Answer> ExplainAsAlternative(const Question& question);
// Those of general_ways.h, where nothing else does.
std::optional<Answer> ExplainAsGeneral(const Question& question);
// Products in fewer bits (Proposal::narrow), alone or with something else.
std::optional<Answer> ExplainAsNarrow(const Question& question, const std::string& narrow);
std::optional<Answer> ExplainAsNarrowAndMore(const Question& question, const std::string& narrow);
std::optional<Answer> ExplainAsAccumulator(const Question& question);
std::optional<Answer> ExplainAsLargerFunction(const Question& question);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_EXPLAINERS_H_
