// SPDX-License-Identifier: Apache-2.0
// A row of a depthwise convolution of f16 maps in f16 arithmetic, for CPUs with CpuHasHalfArithmetic() alone.
#ifndef PLUMB_DEVICE_ARM_HALF_DEPTHWISE_ROW_H_
#define PLUMB_DEVICE_ARM_HALF_DEPTHWISE_ROW_H_

#include <cstdint>

#include "simd/depthwise.h"

namespace plumb::cpu {

// Row `row` of the outputs of a block of 8 channels: src is [h.in][w.in][8], weights [h.kernel * w.kernel][8], bias 8
// values, dst [w.out][8]. Taps are added up in f16, the bias and the clamp follow in f32.
void HalfDepthwiseRow(const simd::DepthwiseAxis& h, const simd::DepthwiseAxis& w, int64_t row, const uint16_t* src,
                      const uint16_t* weights, const float* bias, const simd::Clamp& clamp, uint16_t* dst);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_ARM_HALF_DEPTHWISE_ROW_H_
