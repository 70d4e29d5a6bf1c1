// SPDX-License-Identifier: Apache-2.0
// AnswerEffects: what the errors of wrong layers do to the network's outputs.
//
// Let H_k be an output of this network: the device computes the steps up to k, the reference all behind it. H_n is the
// device's answer and H_0 the reference's, so the differences H_k - H_(k-1), each the effect of what step k alone
// introduces, add up to the whole error, exactly and with their signs. For a wrong step both sides are computed: the
// run forks there, once with the step's own values and once with those of its replay, and both forks go on beside the
// reference's own run. What the forked steps leave over is the effect of all others together.
// What a device of ours makes of the rest once the step is healed is run in the end, by the device.
// A fork costs what the own run costs from there on; kMaxLayers wrong steps are followed, the first ones, and as many
// whose verdict waits for the end of the run.
#ifndef PLUMB_CHECK_WALK_ANSWER_EFFECTS_H_
#define PLUMB_CHECK_WALK_ANSWER_EFFECTS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/judge/own_run.h"
#include "check/judge/step_record.h"

namespace plumb {

// A blob in a fork.
struct ForkedBlob {
  size_t position = 0;                              // of the wrong step
  const Tensor *with = nullptr, *healed = nullptr;  // from its own values, from its replay's
};

class AnswerEffects {
 public:
  static constexpr size_t kMaxLayers = 4;

  // Runs the rest behind a step (Scene::rest); empty: nobody does.
  using Rest =
      std::function<Result<std::map<std::string, Tensor>>(size_t position, const std::map<std::string, Tensor>& blobs)>;

  explicit AnswerEffects(Rest rest = {}) : rest_(std::move(rest)) {}
  // Of the reference's own run, for steps behind a fork that are the first to read them.
  void SetInputs(const std::map<std::string, Tensor>& inputs) { inputs_ = inputs; }
  // A blob as a step read it: network inputs are known by this.
  void NoteInput(const std::string& blob, const Tensor& value) { device_.emplace(blob, value); }
  // Every fork goes through the step, by the reference. constants: of the group's inputs, as OwnRun::InputsOf has them.
  void RunStep(const LayerGroup& group, const BlobTable& blobs, const std::vector<Tensor>& constants);
  // Of a step that was judged; a wrong one forks the run. waits: its verdict may still change.
  void NoteStep(size_t position, const StepRecord& record, const BlobTable& blobs, bool waits);
  // Of a step whose values nobody has: what reads them cannot be forked behind it.
  void NoteUnknown(const LayerGroup& group);
  void Release(const std::string& blob);
  // The blob in every fork that has it on both sides, of wrong steps and of those whose verdict waits.
  std::vector<ForkedBlob> Forked(const std::string& blob) const;
  // Fills the effects of outputs that both sides have.
  void Finish(const RunReport& run, std::vector<OutputSummary>* outputs) const;

 private:
  struct Fork {
    size_t position = 0;
    bool waits = false;
    bool lost = false;    // a step could not be replayed
    OwnRun with, healed;  // the step's own values; its replay's, from what was written where memory is shared wrongly
    std::vector<std::string> writes;
    std::map<std::string, Tensor> blobs;  // that the rest reads, the step's as healed; where somebody runs it
  };
  using Outputs = std::map<std::string, Tensor>;
  // What the device makes of the network's outputs once the fork's step is healed; nothing: it cannot.
  std::optional<Outputs> Healed(const Fork& fork) const;
  OutputEffect EffectOn(const RunReport& run, const OutputSummary& output,
                        const std::vector<std::optional<Outputs>>& healed) const;

  Rest rest_;
  std::map<std::string, Tensor> inputs_;  // of the network
  std::map<std::string, Tensor> device_;  // live blobs
  std::vector<Fork> forks_;
};

// Steps of the report were judged again: effects and choices of those that are wrong no more go to the others'.
void SettleEffects(RunReport* run);

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_ANSWER_EFFECTS_H_
