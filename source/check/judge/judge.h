// Judge: one output blob of a step against the reference's replay and its bound (doc/check.md, "The rule").
//   E = max |e| / tau      R = rms(8 e / tau)      R_channel: the same over each channel of at least 64 values
//   wrong: E > 4, R > 2, R_channel > 6, or the slope test (sums of products only)
//   grey: E > 1
//   aligned otherwise
// The reference rounded to the device's dtype decides where values are not finite: class, sign and position must agree.
// One exception: where the step's own inputs were not finite already, a NaN of the replay that the device lost
// (max(NaN, 0) is 0 in most vector instructions) is grey and said, because the guilty layer is the one that made the
// NaN.
#ifndef PLUMB_CHECK_JUDGE_JUDGE_H_
#define PLUMB_CHECK_JUDGE_JUDGE_H_

#include "plumb/check.h"

namespace plumb {

struct JudgeInput {
  const Tensor& device;     // f32, f64 (judged as f32) or an integer dtype
  const Tensor& reference;  // f64, or the same integer dtype
  // f64; of integers how far they may differ, where the reference is next to a rounding tie.
  const Tensor& tau;
  bool slope_test = false;
  bool inputs_finite = true;  // of the step
  double grid_step = 0;  // of int8 that the device stores: gains below 2.5 % may be its rounding; 0: it stores none
  // Tau without how far serial sums may stray (the levels below the highest), or null: none, or not known. A slope that
  // this straying explains is none.
  const Tensor* steady = nullptr;
  bool picks = false;           // integers are indices: where tau allows another one, its element is as good
  bool rounds_once = false;     // integers are rounded once in the step: where all lie next to ties, a constant is why
  bool repeats_errors = false;  // a function of one variable, a recurrent layer: what they repeat counts once
};

// Fills verdict, excess, rms_excess, channel_excess, slope, smallest_fault and reason.
void Judge(const JudgeInput& input, OutputReport* report);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_JUDGE_H_
