// Lockstep's judgement of a step through which errors cannot be followed: its values against the replay's.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "check/judge/lockstep.h"
#include "check/judge/metrics.h"

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
Status Lockstep::JudgeValues(const StepInfo& step, const std::string& why, LayerReport* layer) {
  const double wrong_below_db = options_.arithmetic == SubjectArithmetic::kInt8 ? 10 : 30;
  PLUMB_ASSIGN_OR_RETURN(replayed_, ReplayValues(*step.group, inputs_, *scene_.blobs));
  layer->verdict = Verdict::kAligned;
  layer->reason = why;
  layer->outputs.clear();
  for (size_t i = 0; i < device_.size(); ++i) {
    OutputReport output;
    output.blob = step.outputs[i].blob;
    output.slot = step.outputs[i].slot;
    output.dtype = device_[i].dtype();
    output.shape = device_[i].shape();
    output.introduced = CompareTensors(device_[i], replayed_.values[i]);
    const DiffMetrics& d = output.introduced;
    char snr[64];
    std::snprintf(snr, sizeof(snr), "; without a bound: SNR %.0f dB", d.snr_db);
    output.reason = why + snr;
    const bool same = SameIntegers(device_[i], replayed_.values[i]);
    if (same) output.reason = why + "; the integers are those of the replay";
    if (d.count > 0) {
      const bool off = d.nan_a != d.nan_b || d.inf_a != d.inf_b || !(d.snr_db >= wrong_below_db);
      output.verdict = same ? Verdict::kAligned : off ? Verdict::kWrong : Verdict::kGrey;
    }
    CompareGolden(device_[i], &output);
    if (output.verdict >= layer->verdict) layer->reason = output.reason;
    layer->verdict = std::max(layer->verdict, output.verdict);
    layer->outputs.push_back(std::move(output));
  }
  const auto tested = [](const OutputReport& output) { return output.verdict != Verdict::kNotTested; };
  if (layer->verdict == Verdict::kNotTested && std::any_of(layer->outputs.begin(), layer->outputs.end(), tested))
    layer->verdict = Verdict::kAligned;
  return Status::Ok();
}

}  // namespace plumb
