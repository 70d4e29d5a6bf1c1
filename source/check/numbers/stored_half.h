// SPDX-License-Identifier: Apache-2.0
// Blobs that a device stores as f16 (NORMAL precision; foreign runtimes also as bf16) and computes in f32: what that
// means for the verdict.
//   The replay reads what the device stored, so the inputs' rounding costs no tolerance.
//   Each output is rounded once more: tau^2 += (8 u max(|y|, m))^2; f16: u = 2^-11, m = 2^-14; bf16: u = 2^-8, m =
//   2^-126 (tolerance.md, "The rule"). tau = 0 means: the bits of the reference rounded to f16. Beyond 65504 an
//   infinity is right.
#ifndef PLUMB_CHECK_NUMBERS_STORED_HALF_H_
#define PLUMB_CHECK_NUMBERS_STORED_HALF_H_

#include "plumb/tensor.h"

namespace plumb {

// Every float value (f32 or f64 tensors) rounded to the nearest f16 or bf16; other tensors as they are.
Result<Tensor> RoundedTo(DType storage, const Tensor& tensor);

// Replaces reference and tau (f64) by what a device that stores f16 or bf16 is judged with. `device` decides at the
// edge between the largest such value and infinity, where both are right.
Status JudgeAsStored(DType storage, const Tensor& device, Tensor* reference, Tensor* tau);

// How far each value of a blob (f64) may lie from what was computed with, as a tau: half a unit (4.6 u |x|, 8 sigma of
// an even distribution) of those that are f16 or bf16 values, when they may have been read `before` they were rounded;
// of the others, when a reader may have `rounded` them. Empty: there are none.
Result<Tensor> StorageNoise(DType storage, const Tensor& blob, bool before, bool rounded);

// Adds to tau what rounding every value of the blob (f64) so may move it by.
Status AddStorageNoise(DType storage, const Tensor& blob, Tensor* tau);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_STORED_HALF_H_
