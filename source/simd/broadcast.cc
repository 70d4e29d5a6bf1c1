// SPDX-License-Identifier: Apache-2.0
// Plans a broadcast: aligns the shapes at the right, drops dimensions of 1 and merges neighbours that both operands
// step through alike, so that most real cases end as a few long rows.
#include "simd/broadcast.h"

namespace plumb::simd {
namespace {

struct Dim {
  int64_t extent, a_stride, b_stride;
};

int64_t DimOrOne(const int64_t* dims, int rank, int from_right) {
  return from_right < rank ? dims[rank - 1 - from_right] : 1;
}

// Dimensions from the innermost outwards, merged; strides 0 where an operand is broadcast. Returns how many.
int MergedDims(const int64_t* a_dims, int a_rank, const int64_t* b_dims, int b_rank, Dim* merged) {
  int count = 0;
  int64_t a_size = 1, b_size = 1;
  for (int i = 0; i < std::max(a_rank, b_rank); ++i) {
    const int64_t a = DimOrOne(a_dims, a_rank, i);
    const int64_t b = DimOrOne(b_dims, b_rank, i);
    const int64_t extent = a == 1 ? b : a;
    const Dim dim{extent, a == 1 ? 0 : a_size, b == 1 ? 0 : b_size};
    a_size *= a;
    b_size *= b;
    if (extent == 1) continue;
    if (count > 0) {
      Dim& inner = merged[count - 1];
      if (dim.a_stride == inner.a_stride * inner.extent && dim.b_stride == inner.b_stride * inner.extent) {
        inner.extent *= extent;
        continue;
      }
    }
    merged[count++] = dim;
  }
  return count;
}

}  // namespace

BroadcastPlan PlanBroadcast(const int64_t* a_dims, int a_rank, const int64_t* b_dims, int b_rank) {
  Dim merged[BroadcastPlan::kMaxRank];
  const int count = MergedDims(a_dims, a_rank, b_dims, b_rank, merged);
  BroadcastPlan plan;
  if (count == 0) return plan;
  plan.row = merged[0].extent;
  plan.a_step = static_cast<int>(merged[0].a_stride);
  plan.b_step = static_cast<int>(merged[0].b_stride);
  plan.rank = count - 1;
  for (int i = 0; i < plan.rank; ++i) {
    const Dim& dim = merged[count - 1 - i];
    plan.extent[i] = dim.extent;
    plan.a_stride[i] = dim.a_stride;
    plan.b_stride[i] = dim.b_stride;
    plan.rows *= dim.extent;
  }
  return plan;
}

}  // namespace plumb::simd
