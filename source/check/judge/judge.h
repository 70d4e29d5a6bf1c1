// SPDX-License-Identifier: Apache-2.0
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

#include "check/judge/judge_input.h"
#include "plumb/check.h"

namespace plumb {

// Fills verdict, excess, rms_excess, channel_excess, slope, smallest_fault and reason.
void Judge(const JudgeInput& input, OutputReport* report);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_JUDGE_H_
