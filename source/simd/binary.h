// SPDX-License-Identifier: Apache-2.0
// dst = f(a, b) with numpy broadcasting, for the operators of binary.def, on float vectors.
#ifndef PLUMB_SIMD_BINARY_H_
#define PLUMB_SIMD_BINARY_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

enum class BinaryOp {
#define PLUMB_SIMD_BINARY(name, ...) k##name,
#include "simd/binary.def"
#undef PLUMB_SIMD_BINARY
  kNumOps
};

const char* BinaryName(BinaryOp op);

// dst[i] = f(a[i], b[i]) for i in [0, n); an operand with step 0 is one value for the whole row, else its step is 1.
// `dst` may be an operand of step 1.
void BinaryRow(BinaryOp op, const float* a, int a_step, const float* b, int b_step, float* dst, size_t n);

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

// Computes elements [begin, end) of the dense result; split the work by elements or by rows as you like.
void Binary(BinaryOp op, const BroadcastPlan& plan, const float* a, const float* b, float* dst, int64_t begin,
            int64_t end);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_BINARY_H_
