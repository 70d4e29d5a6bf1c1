// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution on one channel block of nChw8c / nChw16c, with bias and clamp (ReLU, ReLU6) fused.
#ifndef PLUMB_SIMD_DEPTHWISE_H_
#define PLUMB_SIMD_DEPTHWISE_H_

#include <cstdint>

#include "simd/channel_affine.h"

namespace plumb::simd {

// One axis: output o reads the inputs o * stride - pad + k * dilation, k < kernel; those outside count as 0.
struct DepthwiseAxis {
  int64_t in = 1, out = 1;
  int64_t kernel = 3, stride = 1, dilation = 1;
  int64_t pad = 0;
};

// Whether this axis, across, has the quickest loop: three or five taps.
inline bool IsWideDepthwise(const DepthwiseAxis& w) {
  return (w.kernel == 3 || w.kernel == 5) && w.dilation == 1 && (w.stride == 1 || w.stride == 2);
}

// Output rows [row_begin, row_end): src is [h.in][w.in][block], dst the first of those rows, [h.out][w.out][block];
// block is 8 or 16. `weights` is [h.kernel * w.kernel][block] (ToBlocked of the filters makes it), `bias` holds `block`
// values or is null. Channels whose weights, bias and inputs are 0 stay 0.
void DepthwisePlane(const DepthwiseAxis& h, const DepthwiseAxis& w, int block, const float* src, const float* weights,
                    const float* bias, const Clamp& clamp, float* dst, int64_t row_begin, int64_t row_end);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_DEPTHWISE_H_
