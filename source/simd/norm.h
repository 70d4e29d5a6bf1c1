// SPDX-License-Identifier: Apache-2.0
// Normalisations: mean and variance in two float64 passes, then one multiply-add per element.
//
// LayerNorm is LayerNormRow; InstanceNorm is NormRow per channel (NCHW) or InstanceNormPlane (channel blocks);
// GroupNorm is Moments over the whole group and NormRow per channel.
#ifndef PLUMB_SIMD_NORM_H_
#define PLUMB_SIMD_NORM_H_

#include <cstdint>

namespace plumb::simd {

struct RowMoments {
  double mean = 0;
  double inverse_std = 1;  // 1 / sqrt(variance + epsilon), the variance divided by n
};

RowMoments Moments(const float* src, int64_t n, double epsilon);

// dst[i] = (src[i] - mean) * inverse_std * gamma + beta; `dst` may be `src`, here and below.
void NormRow(const float* src, int64_t n, const RowMoments& moments, float gamma, float beta, float* dst);

// The same with a gamma and beta per element, moments of the row itself; null stands for ones and zeros.
void LayerNormRow(const float* src, int64_t n, double epsilon, const float* gamma, const float* beta, float* dst);

// A plane [pixels][block] of 8 or 16 channels, each with its own moments; gamma and beta hold `block` values. Lanes
// whose gamma and beta are 0 become 0, so that padded channels stay 0.
void InstanceNormPlane(int block, const float* src, int64_t pixels, double epsilon, const float* gamma,
                       const float* beta, float* dst);

// y = x / (bias + alpha / size * sum of x^2 over the channels c - (size - 1) / 2 ... c + size / 2)^beta
struct LrnParams {
  int64_t channels = 1, pixels = 1;
  int size = 5;
  float alpha = 1e-4f, beta = 0.75f, bias = 1.0f;
};

// One image, pixels [begin, end) of all channels: [channels][pixels], or channel blocks [blocks][pixels][block], whose
// padded channels become 0. `dst` must not be `src`.
void Lrn(const LrnParams& params, const float* src, int64_t begin, int64_t end, float* dst);
void LrnBlocked(const LrnParams& params, int block, const float* src, int64_t begin, int64_t end, float* dst);

// y = x / max(norm, epsilon) over the middle axis of a [outer, n, inner] view, one outer slice, columns [begin, end).
enum class NormKind { kL1, kL2, kMaxAbs, kMinAbs };
void Normalize(NormKind kind, const float* src, int64_t n, int64_t inner, int64_t begin, int64_t end, double epsilon,
               float* dst);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_NORM_H_
