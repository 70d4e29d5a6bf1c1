// SPDX-License-Identifier: Apache-2.0
// dst = f(a, b) with numpy broadcasting, for the operators of binary.def, on float vectors.
#ifndef PLUMB_SIMD_BINARY_H_
#define PLUMB_SIMD_BINARY_H_

#include <cstddef>
#include <cstdint>

#include "simd/broadcast.h"

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

// Computes elements [begin, end) of the dense result; split the work by elements or by rows as you like.
void Binary(BinaryOp op, const BroadcastPlan& plan, const float* a, const float* b, float* dst, int64_t begin,
            int64_t end);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_BINARY_H_
