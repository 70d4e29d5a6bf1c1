// SPDX-License-Identifier: Apache-2.0
// Plans a permutation: neighbours that stay neighbours merge, then either whole rows are copied, or the dimension that
// is contiguous in the source and the one that is contiguous in the output are transposed for every combination of the
// rest.
#include <cstring>

#include "simd/transpose.h"

namespace plumb::simd {
namespace {

struct Dim {
  int64_t extent, src_stride, dst_stride;
};

// The output's dimensions from outermost to innermost, merged; dst strides are dense.
int MergedDims(const int64_t* dims, const int* order, int rank, Dim* merged) {
  int64_t stride[PermutePlan::kMaxRank];
  int64_t size = 1;
  for (int i = rank - 1; i >= 0; --i) {
    stride[i] = size;
    size *= dims[i];
  }
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    const int64_t extent = dims[order[i]];
    if (extent == 1) continue;
    const int64_t src_stride = stride[order[i]];
    if (count > 0 && merged[count - 1].src_stride == extent * src_stride) {
      merged[count - 1].extent *= extent;
      merged[count - 1].src_stride = src_stride;
    } else {
      merged[count++] = {extent, src_stride, 0};
    }
  }
  int64_t dst_stride = 1;
  for (int i = count - 1; i >= 0; --i) {
    merged[i].dst_stride = dst_stride;
    dst_stride *= merged[i].extent;
  }
  return count;
}

template <class T>
void TransposeAny(const T* src, int64_t src_step, int64_t rows, int64_t columns, T* dst, int64_t dst_step) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) dst[c * dst_step + r] = src[r * src_step + c];
  }
}

template <class T>
void RunTask(const PermutePlan& plan, const T* src, T* dst) {
  if (plan.rows == 0) {
    std::memcpy(dst, src, plan.columns * sizeof(T));
  } else if constexpr (sizeof(T) == sizeof(float)) {
    Transpose(reinterpret_cast<const float*>(src), plan.src_step, plan.rows, plan.columns,
              reinterpret_cast<float*>(dst), plan.dst_step);
  } else {
    TransposeAny(src, plan.src_step, plan.rows, plan.columns, dst, plan.dst_step);
  }
}

template <class T>
void RunTasks(const PermutePlan& plan, const void* src, void* dst, int64_t begin, int64_t end) {
  for (int64_t task = begin; task < end; ++task) {
    int64_t rest = task, from = 0, to = 0;
    for (int i = plan.rank - 1; i >= 0; --i) {
      const int64_t index = rest % plan.extent[i];
      rest /= plan.extent[i];
      from += index * plan.src_stride[i];
      to += index * plan.dst_stride[i];
    }
    RunTask(plan, static_cast<const T*>(src) + from, static_cast<T*>(dst) + to);
  }
}

}  // namespace

PermutePlan PlanPermute(const int64_t* dims, const int* order, int rank) {
  Dim merged[PermutePlan::kMaxRank];
  const int count = MergedDims(dims, order, rank, merged);
  PermutePlan plan;
  if (count == 0) return plan;
  const Dim& last = merged[count - 1];
  int source_innermost = count - 1;
  if (last.src_stride == 1) {
    plan.columns = last.extent;
  } else {
    for (int i = 0; i < count; ++i) {
      if (merged[i].src_stride == 1) source_innermost = i;
    }
    plan.rows = last.extent;
    plan.src_step = last.src_stride;
    plan.columns = source_innermost == count - 1 ? 1 : merged[source_innermost].extent;
    plan.dst_step = merged[source_innermost].dst_stride;
  }
  for (int i = 0; i < count - 1; ++i) {
    if (i == source_innermost) continue;
    plan.extent[plan.rank] = merged[i].extent;
    plan.src_stride[plan.rank] = merged[i].src_stride;
    plan.dst_stride[plan.rank] = merged[i].dst_stride;
    plan.tasks *= merged[i].extent;
    ++plan.rank;
  }
  return plan;
}

void Permute(const PermutePlan& plan, size_t element_size, const void* src, void* dst, int64_t begin, int64_t end) {
  switch (element_size) {
    case 1: return RunTasks<uint8_t>(plan, src, dst, begin, end);
    case 2: return RunTasks<uint16_t>(plan, src, dst, begin, end);
    case 4: return RunTasks<uint32_t>(plan, src, dst, begin, end);
    default: return RunTasks<uint64_t>(plan, src, dst, begin, end);
  }
}

}  // namespace plumb::simd
