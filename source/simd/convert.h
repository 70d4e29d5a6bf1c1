// float32 <-> float16 (IEEE binary16) on contiguous arrays: round to nearest even, subnormals, infinities and NaN kept.
#ifndef PLUMB_SIMD_CONVERT_H_
#define PLUMB_SIMD_CONVERT_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

void FloatToHalf(const float* src, uint16_t* dst, size_t n);
void HalfToFloat(const uint16_t* src, float* dst, size_t n);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_CONVERT_H_
