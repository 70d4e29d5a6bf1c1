// SPDX-License-Identifier: Apache-2.0
// A row vector times a matrix: of n dense columns, or of columns that lie as rows.
#ifndef PLUMB_SIMD_GEMV_H_
#define PLUMB_SIMD_GEMV_H_

#include <cstdint>

namespace plumb::simd {

// y[j] += sum over k of x[k] * w[k * n + j]
void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y);

// y[r] = sum over i < n of x[i] * w[r * step + i]
void GemvDots(const float* x, int64_t n, const float* w, int64_t rows, int64_t step, float* y);

// The same of some vectors, in one pass over the matrix for four of them: x and y are x_step and y_step apart.
struct GemvVectors {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t count = 1, x_step = 0, y_step = 0;
};
void GemvAdd(const GemvVectors& v, int64_t rows, const float* w, int64_t n);
void GemvDots(const GemvVectors& v, int64_t n, const float* w, int64_t rows, int64_t step);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_GEMV_H_
