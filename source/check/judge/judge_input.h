// SPDX-License-Identifier: Apache-2.0
// What one output blob of a step is judged by: what the device wrote, the reference's replay and its bound.
#ifndef PLUMB_CHECK_JUDGE_JUDGE_INPUT_H_
#define PLUMB_CHECK_JUDGE_JUDGE_INPUT_H_

#include "plumb/tensor.h"

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

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_JUDGE_INPUT_H_
