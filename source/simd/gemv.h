// A row vector times a dense matrix of n columns.
#ifndef PLUMB_SIMD_GEMV_H_
#define PLUMB_SIMD_GEMV_H_

#include <cstdint>

namespace plumb::simd {

// y[j] += sum over k of x[k] * w[k * n + j]
void GemvAdd(const float* x, int64_t rows, const float* w, int64_t n, float* y);
// The same for the columns [0, count) of integers whose rows lie in pairs: w[pair][column][2], x[pair][2] in [-255,
// 255].
void GemvAddInt8(const int16_t* x, int64_t row_pairs, const int8_t* w, int64_t n, int64_t count, int32_t* y);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_GEMV_H_
