// SPDX-License-Identifier: Apache-2.0
// RmsOfDistinct: R of a function of one variable. Where its argument repeats (or is so large that a tanh is 1) it
// repeats its value and its error: a field of them is one error, not many, and counts once. So do recurrent layers.
#ifndef PLUMB_CHECK_JUDGE_REPEATED_VALUES_H_
#define PLUMB_CHECK_JUDGE_REPEATED_VALUES_H_

#include <cstdint>

#include "check/judge/judge_input.h"

namespace plumb {

// rms(8 e / tau) of `channels` channels from `channel` on, each pair of a device's and a reference's f32 once, over 64
// of them at least: fewer say no more than E does. REQUIRES: the device is f32, all finite values have tau > 0.
double RmsOfDistinct(const JudgeInput& input, int64_t channel, int64_t channels);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_REPEATED_VALUES_H_
