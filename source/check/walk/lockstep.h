// SPDX-License-Identifier: Apache-2.0
// Lockstep: judges steps one after the other beside the float64 reference, whoever computed them: a network of ours
// (Checker) or a foreign runtime whose tensors stand in files (subject). One StepRecord goes through it per step:
//   read and written blobs are looked at (WrittenBlobs), the reference runs on its own inputs (OwnRun) and is replayed
//   on the step's (StepJudge), what is off is explained (Explainers); what is left is a line of the RunReport.
#ifndef PLUMB_CHECK_WALK_LOCKSTEP_H_
#define PLUMB_CHECK_WALK_LOCKSTEP_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check/cause/explainers.h"
#include "check/integer/integer_judge.h"
#include "check/judge/narrow_products.h"
#include "check/judge/other_products.h"
#include "check/judge/own_run.h"
#include "check/judge/relative_class.h"
#include "check/judge/scene.h"
#include "check/judge/step_judge.h"
#include "check/judge/step_record.h"
#include "check/judge/written_blobs.h"
#include "check/walk/answer_effects.h"
#include "check/walk/choices.h"
#include "plumb/check.h"

namespace plumb {

class Lockstep : public Observer {
 public:
  explicit Lockstep(CheckOptions options) : options_(std::move(options)) {}
  Lockstep(const Lockstep&) = delete;

  // `inputs`: the network inputs that the reference's own run starts from and that the device reads; none: nothing is
  // inherited.
  Status Begin(Scene scene, const std::map<std::string, Tensor>& inputs);
  // Only the former: what a subject read may be something else.
  Status SetOwnInputs(const std::map<std::string, Tensor>& inputs);
  bool Wants(const StepInfo&, int) override { return !done_; }
  Status Before(const LayerEvent& event) override;
  Status After(const LayerEvent& event) override;
  Status ForwardEnd(int) override;
  // In place of Before and After: the step has this report already; only the reference's own run goes through it.
  void Skip(const StepInfo& step, Verdict verdict, const std::string& reason);
  // A network input that only steps which keep their reports may read.
  Status NoteRead(const std::string& blob, const Tensor& value);
  // In place of Before and After: the step keeps an earlier report. outputs: what it wrote, or nothing where no causes
  // are sought.
  Status Keep(const LayerGroup& group, LayerReport report, const std::vector<Tensor>& outputs);
  // The last step; null: it waits for what the others will say, or was kept.
  const LayerReport* Settled() const { return settled_ ? &report_.layers.back() : nullptr; }
  Result<RunReport> Finish();
  // The steps so far, in place of Finish.
  RunReport Unfinished() { return std::move(report_); }

 private:
  // What is said of an output at the end, in the model's words.
  void SayOutputs(LayerReport* report) const;
  // Whether CheckOptions::layers asks for it.
  bool IsNamed(const StepInfo& step) const;
  Status ReadInputs(const LayerEvent& event, StepRecord* record);
  Status Judge(const LayerEvent& event, StepRecord* record);
  // Of an aligned step whose operator may be right relatively, too.
  Status NoteRelative(const StepRecord& record);
  // To on_step and on_wrong.
  Status HandOver(const StepRecord& record) const;
  // A step that was judged, with its report. REQUIRES: Scene::earlier; a subject has it, of which every step is in the
  // report, so that positions in it are those of Scene::steps.
  Result<StepRecord> Reopen(size_t position);
  Status SettleProducts();
  Status SettleNarrow();
  Status SettleIntegers();
  void AddCosts(const std::map<int, const Layer*>& layers, LayerReport* report) const;
  void AddAnswers();
  // Drops what nobody will read any more.
  void Release(const StepInfo& step);

  CheckOptions options_;
  Scene scene_;
  bool done_ = false;
  bool settled_ = false;  // the last step
  RunReport report_;
  std::set<size_t> kept_;  // positions
  std::map<std::string, int> readers_;
  std::map<std::string, Tensor> inputs_;  // that the own run starts from
  OwnRun own_;
  WrittenBlobs written_;
  std::unique_ptr<StepJudge> judge_;
  Explainers explainers_;
  RelativeClasses relative_;
  OtherProducts products_;
  NarrowProducts narrow_;
  IntegerJudge integers_;
  AnswerEffects effects_;             // with CheckOptions::inherited
  Choices choices_;                   // likewise
  std::unique_ptr<StepRecord> open_;  // between Before and After
};

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_LOCKSTEP_H_
