// SPDX-License-Identifier: Apache-2.0
// What a step's values exercise of it: behind zeros (an input that deployment tools feed where none is given, dead
// channels) any weights are right, and a limit that is reached everywhere (ReLU6, Clip, Sigmoid, Tanh, Erf) hides what
// it is computed from.
#ifndef PLUMB_CHECK_JUDGE_EXERCISED_H_
#define PLUMB_CHECK_JUDGE_EXERCISED_H_

#include <string>

#include "check/judge/step_record.h"

namespace plumb {

// Of an aligned step: not tested where a product reads zeros alone or a function is at its limits everywhere; says
// where it reads some, or one value everywhere, or is at its limits nearly everywhere.
void NoteNotExercised(StepRecord* record);

// How much of one layer its values exercise, from 0 (nothing) to 1.
struct Exercise {
  double share = 1;
  std::string what;  // "12 of 16 input channels are not 0 everywhere"; empty: all of it
};

// Of a layer that reads the value in its first input and writes the other; of any float dtype.
Exercise ExerciseOf(const Layer& layer, const Tensor& input, const Tensor& output);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_EXERCISED_H_
