// Softmax and log-softmax over the middle axis of a dense [outer, n, inner] view, one outer slice per call; and of the
// rows inside attention.
#ifndef PLUMB_SIMD_SOFTMAX_H_
#define PLUMB_SIMD_SOFTMAX_H_

#include <cstdint>

namespace plumb::simd {

// For the columns c in [begin, end) of [0, inner): p = e^(x - max) / sum e^(x - max) over i < n of x = src[i * inner +
// c], or its logarithm (x - max) - log(sum). `dst` may be `src`. A column with a NaN or an infinite maximum becomes
// NaN.
void Softmax(bool log, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, float* dst);

// The softmax of x * scale + mask over the n values of `x`, in their place. `mask` has n values with step 1, one with
// step 0, or is null. What has no normal exponential becomes 0.
void ScaledSoftmax(float* x, int64_t n, float scale, const float* mask, int step);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_SOFTMAX_H_
