// SPDX-License-Identifier: Apache-2.0
// Moves floats between NCHW and channel blocks (nChw8c, nChw16c), and permutes dense tensors of any element size.
#ifndef PLUMB_SIMD_TRANSPOSE_H_
#define PLUMB_SIMD_TRANSPOSE_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

// dst[column * dst_stride + row] = src[row * src_stride + column]; any 4-byte values, strides in elements.
void Transpose(const float* src, int64_t src_stride, int64_t rows, int64_t columns, float* dst, int64_t dst_stride);

// One channel block: src holds `channels` <= block planes of `pixels` floats, `plane_stride` apart; dst is
// [pixels][block], lanes behind the last channel become 0. ToPlain is the way back.
void ToBlocked(int block, const float* src, int64_t plane_stride, int64_t channels, int64_t pixels, float* dst);
void ToPlain(int block, const float* src, int64_t channels, int64_t pixels, float* dst, int64_t plane_stride);

// A permutation of a dense tensor, reduced to `tasks` independent copies or 2-D transposes.
struct PermutePlan {
  static constexpr int kMaxRank = 8;
  int rank = 0;  // outer dimensions, in the order of the output
  int64_t extent[kMaxRank] = {};
  int64_t src_stride[kMaxRank] = {};  // in elements
  int64_t dst_stride[kMaxRank] = {};
  int64_t tasks = 1;  // product of extent
  // Each task: rows x columns with dst[column * dst_step + row] = src[row * src_step + column] (contiguous columns in
  // the source, contiguous rows in the output); a plain copy of `columns` elements when rows is 0.
  int64_t rows = 0, columns = 1;
  int64_t src_step = 0, dst_step = 0;
};

// Output dimension i is input dimension order[i] (numpy's transpose). REQUIRES: rank <= kMaxRank, no dimension is 0.
PermutePlan PlanPermute(const int64_t* dims, const int* order, int rank);

// Runs tasks [begin, end); element_size is 1, 2, 4 or 8 bytes.
void Permute(const PermutePlan& plan, size_t element_size, const void* src, void* dst, int64_t begin, int64_t end);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_TRANSPOSE_H_
