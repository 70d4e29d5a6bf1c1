// SPDX-License-Identifier: Apache-2.0
// Choices: what steps inside of a network choose (routers of a mixture of experts, TopK, ArgMax) beside what the
// reference's own run chooses, and of each choice that differs what brought it.
//
// Of a changed choice the pair counts that takes most to change places: the element which the reference likes best of
// those that the device left out, and the one that it likes least of those that the device took instead. The
// reference's lead of the first is the margin, and the device moved the two against each other by at least as much.
//   - What a wrong layer moved them is known from its forks (AnswerEffects). Where the rest alone would not have moved
//     them by the margin, the wrong layer that moved them most brought the choice.
//   - Two more runs of the reference take the device's choices, so that a choice is not charged with earlier ones. One
//     of them (moved_) adds to every blob, with signs by chance, what rounding does to it: the larger of the step's
//     error and of tau / 8. Rounding may move a pair by eight times what the two runs differ by.
// Networks without such steps pay nothing, others a run of the reference more, to the last of these steps.
#ifndef PLUMB_CHECK_WALK_CHOICES_H_
#define PLUMB_CHECK_WALK_CHOICES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check/judge/own_run.h"
#include "check/judge/scene.h"
#include "check/judge/step_record.h"
#include "check/walk/answer_effects.h"
#include "check/walk/choice_rows.h"

namespace plumb {

class Choices {
 public:
  static constexpr size_t kMostFollowed = 65536;  // of a step's changed choices; the others are only counted

  // Looks for steps that choose; blobs outlives it. The network inputs follow. exact: the steps are judged by what the
  // graph says, and not by what rounded operands or weights give.
  void Begin(const std::vector<const StepInfo*>& steps, const BlobTable& blobs, bool exact);
  Status SetInputs(const std::map<std::string, Tensor>& inputs);
  // Of a step that own and effects ran through, before its inputs are released. waits: its verdict may still change to
  // right in another arithmetic.
  void NoteStep(size_t position, const StepRecord& record, const OwnRun& own, const AnswerEffects& effects, bool waits);
  // Of a step whose values nobody has.
  void NoteUnknown(size_t position, const LayerGroup& group, const std::vector<Tensor>& constants);
  void Release(const std::string& blob);
  std::vector<ChoiceReport> Finish(const RunReport& run) const;

 private:
  struct Place;     // where a step has its scores and choices
  struct Compared;  // both sides of it
  struct Changed {
    double margin = 0, moved = 0;       // of the reference's own scores
    bool against_scores = false;        // the device's own scores say otherwise
    bool follows = false;               // from other choices before it
    double margin_here = 0, reach = 0;  // behind the device's earlier choices; what rounding may move
    std::vector<double> by_fork;        // of moved
  };
  struct Step {
    size_t position = 0;
    int64_t choices = 0, changed = 0;
    std::vector<size_t> forks;  // positions
    std::vector<Changed> rows;
  };

  std::optional<Place> PlaceOf(const StepRecord& record) const;
  void Compare(const Place& place, const Compared& compared, const std::vector<ForkedBlob>& forks, Step* step) const;
  // The run goes through the step, with the device's choices where it chooses.
  void Advance(const StepRecord& record, const std::optional<Place>& place, OwnRun* run) const;
  void AddRounding(size_t position, const StepRecord& record, bool waits);
  // What the step should have written, as the reference's own run computes it.
  std::vector<Tensor> RightValues(const StepRecord& record) const;
  ChoiceReport Conclude(const RunReport& run, const Step& step) const;

  size_t end_ = 0;  // behind the last step that chooses: no run goes on from there
  const BlobTable* blobs_ = nullptr;
  bool exact_ = true;
  OwnRun moved_;
  std::optional<OwnRun> guided_;  // from the first changed choice on; before it is the reference's own run
  std::vector<Step> steps_;
};

// The top-1 of a network output, which changed, by what moved it. position: of the step that computes the output.
ChoiceReport AnswerAsChoice(const OutputEffect& effect, const StepInfo& step, double reach);

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_CHOICES_H_
