// SPDX-License-Identifier: Apache-2.0
// OneSided: whether an output was stored by rounding to nearest, or to one side: by truncation, floor, half away ...
//   Which of the two storable values next to the reference is the nearest is known where the bound of the arithmetic
//   (tau, without that of storing) is far below the distance of the two; ties are told where the reference is one
//   exactly. A value on the other side is a slip. Healthy kernels make none, or as many to either side; a store that
//   cuts off makes half of its values slip towards zero (tolerance.md, "Rounding to one side").
#ifndef PLUMB_CHECK_JUDGE_ONE_SIDED_H_
#define PLUMB_CHECK_JUDGE_ONE_SIDED_H_

#include <string>

#include "plumb/check.h"

namespace plumb {

// The values that an output may be stored as.
struct Lattice {
  std::string name;  // "bf16"
  // Of floats: unit roundoff, the smallest normal value, and what is beyond the largest one.
  double unit_roundoff = 0, min_normal = 0, overflow = 0;
  // Of a grid: its step, and its ends, where values saturate.
  double step = 0, low = 0, high = 0;
  // f32 of an operator that rounds once: what of tau stands for that, relative to the value. Only what looks like a cut
  // throughout stands, because a runtime may compute it in another way that prefers a side.
  double rounds_once = 0;
};

// f32, f16 or bf16.
Lattice LatticeOf(DType storage);

struct OneSidedInput {
  const Tensor& device;     // f32
  const Tensor& reference;  // f64
  const Tensor& tau;        // f64, without what storing adds
  Lattice lattice;
};

// Fills bias, bias_z and one_sided. Where the latter stands, the verdict is wrong (grey for half away from
// zero), and the reason says why.
void JudgeSides(const OneSidedInput& input, OutputReport* report);

// Of a run whose outputs are known: how many layers round to one side, and what its outputs lose by it.
void NoteOneSided(RunReport* report);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_ONE_SIDED_H_
