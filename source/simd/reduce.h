// SPDX-License-Identifier: Apache-2.0
// Reductions and arg max / arg min over the middle axis of a dense [outer, n, inner] view; one outer slice per call.
#ifndef PLUMB_SIMD_REDUCE_H_
#define PLUMB_SIMD_REDUCE_H_

#include <cstdint>

namespace plumb::simd {

enum class ReduceOp {
#define PLUMB_SIMD_REDUCE(name, ...) k##name,
#include "simd/reduce.def"
#undef PLUMB_SIMD_REDUCE
  kNumOps
};

const char* ReduceName(ReduceOp op);

// dst[c - begin] = op over i < n of src[i * inner + c], for the columns c in [begin, end) of [0, inner). Accumulates in
// float64. Max and Min keep NaN; of nothing (n = 0) they are -infinity and infinity, Sum 0, Prod 1, Mean NaN.
void Reduce(ReduceOp op, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst);

// dst[c - begin] = the i with the greatest (`max`) or smallest src[i * inner + c]: the first such i, or the last. NaN
// wins over everything, as in numpy. REQUIRES: 0 < n < 2^31.
void ArgReduce(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end,
               int32_t* dst);
void ArgReduce(bool max, bool last, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end,
               int64_t* dst);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_REDUCE_H_
