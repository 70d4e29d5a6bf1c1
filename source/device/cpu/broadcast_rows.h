// SPDX-License-Identifier: Apache-2.0
// Walks the rows (last dim) of a broadcast of any number of dense operands on all threads; for scalar kernels.
#ifndef PLUMB_DEVICE_CPU_BROADCAST_ROWS_H_
#define PLUMB_DEVICE_CPU_BROADCAST_ROWS_H_

#include <algorithm>
#include <array>
#include <vector>

#include "base/threads.h"
#include "op/core/strided.h"

namespace plumb::cpu {

template <size_t kOperands>
class BroadcastRows {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  BroadcastRows() = default;
  BroadcastRows(const std::array<Shape, kOperands>& operands, const Shape& out) : dims_(out.dims()) {
    for (size_t i = 0; i < kOperands; ++i) {
      strides_[i] = BroadcastMap(operands[i], out).strides;
      steps_[i] = dims_.empty() ? 0 : strides_[i].back();
    }
    row_ = dims_.empty() ? 1 : dims_.back();
    rows_ = row_ == 0 ? 0 : out.NumElements() / row_;
  }

  // row(offset of the output, offsets of the operands, their steps (0 or 1), count)
  template <class F>
  void ForEach(F row) const {
    ParallelFor(rows_, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row_)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row(r * row_, OffsetsOf(r), steps_, row_);
    });
  }

 private:
  Offsets OffsetsOf(int64_t r) const {
    Offsets offsets{};
    for (size_t d = dims_.empty() ? 0 : dims_.size() - 1; d-- > 0; r /= dims_[d]) {
      for (size_t i = 0; i < kOperands; ++i) offsets[i] += r % dims_[d] * strides_[i][d];
    }
    return offsets;
  }

  std::vector<int64_t> dims_;
  std::array<std::vector<int64_t>, kOperands> strides_;
  Offsets steps_{};
  int64_t row_ = 1, rows_ = 0;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_BROADCAST_ROWS_H_
