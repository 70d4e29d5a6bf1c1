// SPDX-License-Identifier: Apache-2.0
// How two tensors broadcast as numpy's do.
#ifndef PLUMB_SIMD_BROADCAST_H_
#define PLUMB_SIMD_BROADCAST_H_

#include <algorithm>
#include <cstdint>

namespace plumb::simd {

// How two dense tensors broadcast, with dimensions merged wherever both operands allow it: `rows` rows of `row`
// elements.
struct BroadcastPlan {
  static constexpr int kMaxRank = 8;
  int rank = 0;  // dimensions outside the row
  int64_t extent[kMaxRank] = {};
  int64_t a_stride[kMaxRank] = {};  // in elements
  int64_t b_stride[kMaxRank] = {};
  int64_t rows = 1;  // product of extent
  int64_t row = 1;
  int a_step = 0;  // 0 or 1, inside the row
  int b_step = 0;
  int64_t size() const { return rows * row; }
};

// REQUIRES: the shapes broadcast (each aligned pair of dimensions is equal or has a 1) and ranks are at most kMaxRank.
BroadcastPlan PlanBroadcast(const int64_t* a_dims, int a_rank, const int64_t* b_dims, int b_rank);

// Calls row(a_offset, b_offset, dst_offset, count) for the pieces of [begin, end).
template <class Row>
void ForEachBroadcastRow(const BroadcastPlan& plan, int64_t begin, int64_t end, const Row& row) {
  if (begin >= end) return;
  int64_t index[BroadcastPlan::kMaxRank] = {};
  int64_t a = 0, b = 0;
  int64_t rest = begin / plan.row;
  for (int i = plan.rank - 1; i >= 0; --i) {
    index[i] = rest % plan.extent[i];
    rest /= plan.extent[i];
    a += index[i] * plan.a_stride[i];
    b += index[i] * plan.b_stride[i];
  }
  int64_t column = begin % plan.row;
  for (int64_t at = begin; at < end;) {
    const int64_t count = std::min(plan.row - column, end - at);
    row(a + column * plan.a_step, b + column * plan.b_step, at, count);
    at += count;
    column = 0;
    for (int i = plan.rank - 1; i >= 0; --i) {
      a += plan.a_stride[i];
      b += plan.b_stride[i];
      if (++index[i] < plan.extent[i]) break;
      index[i] = 0;
      a -= plan.extent[i] * plan.a_stride[i];
      b -= plan.extent[i] * plan.b_stride[i];
    }
  }
}

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_BROADCAST_H_
