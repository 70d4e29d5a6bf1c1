// SPDX-License-Identifier: Apache-2.0
// StepJudge: the verdict of one step: its outputs against the reference's replay on its own inputs, level by level of
// the bound, as the run's arithmetic says (numeric_rules.h).
#ifndef PLUMB_CHECK_JUDGE_STEP_JUDGE_H_
#define PLUMB_CHECK_JUDGE_STEP_JUDGE_H_

#include <string>
#include <vector>

#include "check/judge/numeric_rules.h"
#include "check/judge/own_run.h"
#include "check/judge/scene.h"
#include "check/judge/step_record.h"

namespace plumb {

class StepJudge {
 public:
  // Of scene and golden (null: none) as they are when a step is judged; all of them outlive it.
  // picture_cells: CheckOptions.
  StepJudge(const Scene* scene, const BlobSource* golden, OwnRun* own, int picture_cells)
      : scene_(scene), golden_(golden), own_(own), picture_cells_(picture_cells) {}

  // Fills report and replay, and lets the own run take the step.
  Status Judge(const OwnInputs& own, StepRecord* record) const;
  // By one way, level by level until it is aligned.
  Status JudgeBy(const StepRecord& record, const Way& way, LayerReport* report, ReplayResult* replay) const;
  // The outputs against one replay with its bound. steady: the bounds of the level below the highest (JudgeInput), or
  // nothing. stored_as: Way::stored.
  Status JudgeOutputs(const StepRecord& record, const ReplayResult& replay, int level, LayerReport* report,
                      const std::vector<Tensor>& steady = {}, DType stored_as = DType::kF32) const;

 private:
  // Judge, however long it takes.
  Status JudgeStep(const OwnInputs& own, StepRecord* record) const;
  Status JudgeBy(const StepRecord& record, const Way& way, const OwnInputs& own, LayerReport* report,
                 ReplayResult* replay) const;
  // The replay at the lowest level, and the own run: its result, made beside it, or by a run of its own.
  Result<ReplayResult> ReplayFirst(const StepRecord& record, const Way& way, const OwnInputs& own) const;
  Result<OutputReport> JudgeOutput(const StepRecord& record, const ReplayResult& replay, int level, size_t i,
                                   const Tensor* steady, DType stored_as) const;
  // step_values.cc. Without a bound: values against the replay's, where errors cannot be followed through a group.
  Status JudgeValues(const StepRecord& record, const std::string& why, LayerReport* report, ReplayResult* replay) const;
  void CompareGolden(const Tensor& device, OutputReport* output) const;
  const NumericRules& rules() const { return RulesOf(*scene_->model); }

  const Scene* scene_;
  const BlobSource* golden_;
  OwnRun* own_;
  int picture_cells_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_STEP_JUDGE_H_
