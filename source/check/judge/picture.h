// SPDX-License-Identifier: Apache-2.0
#ifndef PLUMB_CHECK_JUDGE_PICTURE_H_
#define PLUMB_CHECK_JUDGE_PICTURE_H_

#include "check/judge/judge_input.h"
#include "plumb/picture.h"

namespace plumb {

// Of the values that were judged. cells: along an axis of a map, at most; channels: that have a map of their own.
ErrorPicture DrawErrors(const JudgeInput& input, int cells, int channels);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_PICTURE_H_
