// SPDX-License-Identifier: Apache-2.0
// StepRecord: one step while it is judged, filled from the top to the bottom: what the device read and wrote, what the
// reference makes of the same inputs, and what was found. Nothing of it outlives the step but the report.
#ifndef PLUMB_CHECK_JUDGE_STEP_RECORD_H_
#define PLUMB_CHECK_JUDGE_STEP_RECORD_H_

#include <optional>
#include <string>
#include <vector>

#include "check/numbers/replay.h"
#include "device/grouped_step.h"
#include "plumb/check.h"

namespace plumb {

struct StepRecord {
  explicit StepRecord(const StepInfo& step_info) : info(step_info), group(GroupOf(step_info)) {
    report.step = step_info;
  }

  const StepInfo& info;
  const LayerGroup& group;
  std::vector<Tensor> inputs;  // as for ReplayValues: the device's own, constants in what the device stores them in
  bool inputs_finite = true;
  std::string changed;         // an input that is no longer what its layer wrote
  std::vector<Tensor> device;  // outputs
  ReplayResult replay;         // what they should be; without a bound where errors cannot be followed
  LayerReport report;
  // Where products in fewer bits are the cause, or part of it: of which ("weights rounded to f16"), and in the former
  // case the outputs as these.
  std::string narrow;
  std::optional<LayerReport> as_narrow;

  bool is_off() const { return report.verdict == Verdict::kWrong || report.verdict == Verdict::kGrey; }
  // Whether a search for what else was computed makes sense: the same inputs, and a bound to judge by.
  bool may_be_explained() const { return is_off() && changed.empty() && !replay.tau.empty(); }
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_STEP_RECORD_H_
