// A row vector times a dense matrix of n columns.
#ifndef PLUMB_SIMD_GEMV_H_
#define PLUMB_SIMD_GEMV_H_

#include <cstdint>

namespace plumb::simd {

// y[j] += sum over k of x[k] * w[k * n + j]
void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_GEMV_H_
