// SPDX-License-Identifier: Apache-2.0
// Walks the rows of a BroadcastPlan: calls row(a_offset, b_offset, dst_offset, count) for the pieces of [begin, end).
#ifndef PLUMB_SIMD_BROADCAST_H_
#define PLUMB_SIMD_BROADCAST_H_

#include <algorithm>

#include "simd/binary.h"

namespace plumb::simd {

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
