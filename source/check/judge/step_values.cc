// SPDX-License-Identifier: Apache-2.0
// StepJudge's judgement of a step through which errors cannot be followed: its values against the replay's.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "check/core/metrics.h"
#include "check/judge/step_judge.h"

namespace plumb {
namespace {

// What errors cannot be followed to may still be the same bits, which leaves no doubt about integers.
bool SameIntegers(const Tensor& a, const Tensor& b) {
  return !IsFloat(a.dtype()) && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

// Rounding alone never comes near 3 % of a signal (int8's not near 30 %); below that nothing is known, so it is grey at
// best.
Status StepJudge::JudgeValues(const StepRecord& record, const std::string& why, LayerReport* report,
                              ReplayResult* replay) const {
  PLUMB_ASSIGN_OR_RETURN(*replay, ReplayValues(record.group, record.inputs, *scene_->blobs));
  report->verdict = Verdict::kAligned;
  report->reason = why;
  report->outputs.clear();
  for (size_t i = 0; i < record.device.size(); ++i) {
    const Tensor& device = record.device[i];
    OutputReport output;
    output.blob = record.info.outputs[i].blob;
    output.slot = record.info.outputs[i].slot;
    output.dtype = device.dtype();
    output.shape = device.shape();
    output.introduced = CompareTensors(device, replay->values[i]);
    const DiffMetrics& d = output.introduced;
    char snr[64];
    std::snprintf(snr, sizeof(snr), "; without a bound: SNR %.0f dB", d.snr_db);
    output.reason = why + snr;
    const bool same = SameIntegers(device, replay->values[i]);
    if (same) output.reason = why + "; the integers are those of the replay";
    if (d.count > 0) {
      const bool off = d.nan_a != d.nan_b || d.inf_a != d.inf_b || !(d.snr_db >= rules().wrong_below_db());
      output.verdict = same ? Verdict::kAligned : off ? Verdict::kWrong : Verdict::kGrey;
    }
    CompareGolden(device, &output);
    if (output.verdict >= report->verdict) report->reason = output.reason;
    report->verdict = std::max(report->verdict, output.verdict);
    report->outputs.push_back(std::move(output));
  }
  const auto tested = [](const OutputReport& output) { return output.verdict != Verdict::kNotTested; };
  if (report->verdict == Verdict::kNotTested && std::any_of(report->outputs.begin(), report->outputs.end(), tested))
    report->verdict = Verdict::kAligned;
  return Status::Ok();
}

}  // namespace plumb
