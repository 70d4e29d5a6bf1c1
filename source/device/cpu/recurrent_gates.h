// SPDX-License-Identifier: Apache-2.0
// What follows the gates' sums in every recurrent layer: activations by the vector functions of simd, and an
// LSTM's new states.
#ifndef PLUMB_DEVICE_CPU_RECURRENT_GATES_H_
#define PLUMB_DEVICE_CPU_RECURRENT_GATES_H_

#include "op/recurrent.h"

namespace plumb::cpu {

class RecurrentGates {
 public:
  void Init(const Layer& layer, const RecurrentShape& shape);

  // z = f(z) with the direction's function `which` (0: f, 1: g, 2: k), clipped before.
  void Activate(int64_t d, int which, int64_t count, float* z) const;
  // z: the sums of the gates i, o, f, c, one after the other; peep: those of P, or null. `line` has room for one gate.
  void Lstm(int64_t d, const float* peep, float* z, float* c, float* h, float* line) const;

 private:
  RecurrentShape s_;
  float clip_ = 0;
  bool input_forget_ = false;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_RECURRENT_GATES_H_
