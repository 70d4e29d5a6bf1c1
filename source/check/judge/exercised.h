// SPDX-License-Identifier: Apache-2.0
// Whether a step's inputs exercise the weights of its products: behind zeros (an input that deployment tools feed where
// none is given, dead channels) any weights are right.
#ifndef PLUMB_CHECK_JUDGE_EXERCISED_H_
#define PLUMB_CHECK_JUDGE_EXERCISED_H_

#include "check/judge/step_record.h"

namespace plumb {

// Of an aligned step: not tested where a product reads zeros alone; says where it reads some, or one value everywhere.
void NoteNotExercised(StepRecord* record);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_EXERCISED_H_
