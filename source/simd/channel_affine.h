// SPDX-License-Identifier: Apache-2.0
// y = clamp(x * scale[c] + shift[c]) and y = clamp(a + b): what batch normalisation, residual sums and activations come
// to when they cannot join a convolution.
#ifndef PLUMB_SIMD_CHANNEL_AFFINE_H_
#define PLUMB_SIMD_CHANNEL_AFFINE_H_

#include <cstddef>
#include <cstdint>
#include <limits>

namespace plumb::simd {

// ReLU is [0, inf), ReLU6 [0, 6]. NaN stays NaN.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// A plane of `pixels` pixels with `block` channels each; block is 1 (NCHW), 8 or 16. `scale` and `shift` hold `block`
// values. `dst` may be `src`.
void ChannelAffinePlane(int block, const float* src, int64_t pixels, const float* scale, const float* shift,
                        const Clamp& clamp, float* dst);

// One pixel of n channels: dst[i] = clamp(src[i] * scale[i] + shift[i]); `dst` may be `src`.
void ChannelAffinePixel(const float* src, const float* scale, const float* shift, const Clamp& clamp, float* dst,
                        size_t n);

// dst[i] = clamp(a[i] + b[i]); `dst` may be an operand.
void AddClamp(const float* a, const float* b, const Clamp& clamp, float* dst, size_t n);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_CHANNEL_AFFINE_H_
