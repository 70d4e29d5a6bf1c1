// SPDX-License-Identifier: Apache-2.0
// StoredOutput: what it means for the verdict of an output in what the device stores it: as f32 (nothing), as f16 or
// bf16 (stored_half.h) or on a grid of int8 (int8.h).
#ifndef PLUMB_CHECK_JUDGE_STORED_OUTPUT_H_
#define PLUMB_CHECK_JUDGE_STORED_OUTPUT_H_

#include "check/judge/step_record.h"
#include "check/numbers/int8.h"
#include "plumb/check.h"

namespace plumb {

class StoredOutput {
 public:
  // Replaces reference and tau (f64) by what such an output is judged with.
  static Result<StoredOutput> Take(const LayerGroup& group, const PortInfo& port, const Tensor& device,
                                   Tensor* reference, Tensor* tau);
  double grid_step() const { return grid_.step; }
  // Of f32 it was measured on convolutions only, one at a time. A gain below 16 bits' rounding is none, and a constant
  // field rounds alike everywhere; a grid's layers all have it.
  bool HasSlopeTest(const LayerGroup& group) const;
  // Whether output `i` was rounded to one side.
  void JudgeSides(const StepRecord& record, const BlobTable& blobs, const ReplayResult& replay, size_t i,
                  OutputReport* output) const;
  // Says what the grid means.
  void AddTo(OutputReport* output) const;

 private:
  DType as_ = DType::kF32;
  bool half_ = false, on_grid_ = false;
  OnGrid grid_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_STORED_OUTPUT_H_
