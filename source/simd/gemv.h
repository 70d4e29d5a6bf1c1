// A row vector times a matrix: of n dense columns, or of columns that lie as rows.
#ifndef PLUMB_SIMD_GEMV_H_
#define PLUMB_SIMD_GEMV_H_

#include <cstdint>

namespace plumb::simd {

// y[j] += sum over k of x[k] * w[k * n + j]
void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y);

// y[r] = sum over i < n of x[i] * w[r * step + i]
void GemvDots(const float* x, int64_t n, const float* w, int64_t rows, int64_t step, float* y);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_GEMV_H_
