// SPDX-License-Identifier: Apache-2.0
// Weights that a subject's runtime rounded to int8 and that lie next to a rounding tie: a quotient in f32 puts each on
// either side (NNCF: (w - low) / step; of 63.5 steps the largest weight of each channel is a tie). The channel's values
// say on which.
#ifndef PLUMB_CHECK_JUDGE_TIED_WEIGHTS_H_
#define PLUMB_CHECK_JUDGE_TIED_WEIGHTS_H_

#include <vector>

#include "check/judge/numeric_rules.h"

namespace plumb {

// `first` with the weights next to ties rounded the other way, in each output channel that comes closer so. Empty where
// none does, or where the step's results have no such channels.
Result<std::vector<Way>> WaysOfTies(const Scene& scene, const StepRecord& record, const Way& first);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_TIED_WEIGHTS_H_
