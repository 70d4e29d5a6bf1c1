// SPDX-License-Identifier: Apache-2.0
// float32 <-> float16 (IEEE binary16) on contiguous arrays: round to nearest even, subnormals, infinities and NaN kept;
// float32 <-> int32.
#ifndef PLUMB_SIMD_CONVERT_H_
#define PLUMB_SIMD_CONVERT_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

void FloatToHalf(const float* src, uint16_t* dst, size_t n);
void HalfToFloat(const uint16_t* src, float* dst, size_t n);

// Truncates and saturates, NaN gives 0; rounds to nearest even.
void FloatToInt(const float* src, int32_t* dst, size_t n);
void IntToFloat(const int32_t* src, float* dst, size_t n);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_CONVERT_H_
