// SPDX-License-Identifier: Apache-2.0
// Quantisation of contiguous values that share a scale (op/quantize_linear.h has the formulas); quantised values are
// i64.
#ifndef PLUMB_SIMD_QUANTIZE_H_
#define PLUMB_SIMD_QUANTIZE_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

struct QuantizeRange {
  float scale = 1;
  int32_t zero_point = 0, low = 0, high = 0;
};

// dst = clamp(round_half_even(src / scale) + zero_point, low, high); NaN gives zero_point. REQUIRES: zero_point, low
// and high within 2^22, so that the sum is exact in f32 (the types of up to 16 bits).
void Quantize(const float* src, const QuantizeRange& range, int64_t* dst, size_t n);

// The same less zero_point, which then needs low and high within 16 bits of it.
void QuantizeLessZero(const float* src, const QuantizeRange& range, int16_t* dst, size_t n);

// Quantize into bytes: low and high are within 0 and 255.
void QuantizeBytes(const float* src, const QuantizeRange& range, uint8_t* dst, size_t n);

// dst = (src - zero_point) * scale, one rounding each. REQUIRES: |src - zero_point| < 2^53.
void Dequantize(const int64_t* src, int64_t zero_point, float scale, float* dst, size_t n);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_QUANTIZE_H_
