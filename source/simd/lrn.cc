// SPDX-License-Identifier: Apache-2.0
// LRN across channels. Each window is summed afresh: a sliding sum cancels. Plain images run on vectors of pixels;
// blocked ones gather a pixel's squares into a line of channels and run on vectors of channels.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/lrn.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/math-inl.h"
#include "simd/norm.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

struct NegativePowerF64 {
  double exponent;
  HWY_INLINE V64 operator()(F64 d, V64 q) const {
    const V64 y = Mul(Set(d, exponent), Log(d, q));
    return Exp(d, Min(Max(y, Set(d, -700.0)), Set(d, 700.0)));
  }
};

// x / q^beta; 0.75, the usual one, by square roots.
HWY_INLINE V32 DivideByPower(F32 d, V32 x, V32 q, float beta) {
  if (beta == 0.75f) {
    const V32 root = Sqrt(q);
    return Div(x, Mul(root, Sqrt(root)));
  }
  return Mul(x, ThroughF64(d, q, NegativePowerF64{-static_cast<double>(beta)}));
}

// Whether float squares and powers are safe in every lane.
HWY_INLINE bool InRange(F32 d, V32 q) { return AllTrue(d, And(Gt(q, Set(d, 1e-30f)), Lt(q, Set(d, 1e30f)))); }

// The window of a channel.
HWY_INLINE int64_t FirstOf(const LrnParams& p, int64_t channel) {
  return std::max<int64_t>(0, channel - (p.size - 1) / 2);
}
HWY_INLINE int64_t LastOf(const LrnParams& p, int64_t channel) {
  return std::min(p.channels - 1, channel + p.size / 2);
}

// One value in float64, `step` floats between channels: for squares beyond float, q = 0, NaN and infinity.
float LrnScalar(const LrnParams& p, const float* src, int64_t step, int64_t channel) {
  double sum = 0;
  for (int64_t c = FirstOf(p, channel); c <= LastOf(p, channel); ++c) {
    sum += static_cast<double>(src[c * step]) * static_cast<double>(src[c * step]);
  }
  const double q = static_cast<double>(p.bias) + static_cast<double>(p.alpha) / p.size * sum;
  return static_cast<float>(static_cast<double>(src[channel * step]) / std::pow(q, static_cast<double>(p.beta)));
}

void RunLrn(const LrnParams& p, const float* src, int64_t begin, int64_t end, float* dst) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  const V32 alpha = Set(d, static_cast<float>(static_cast<double>(p.alpha) / p.size)), bias = Set(d, p.bias);
  for (int64_t i = begin; i < end; i += lanes) {
    const int64_t count = std::min(lanes, end - i);
    for (int64_t channel = 0; channel < p.channels; ++channel) {
      V32 sum = Zero(d);
      for (int64_t c = FirstOf(p, channel); c <= LastOf(p, channel); ++c) {
        const V32 x = LoadUpTo(d, src + c * p.pixels + i, count);
        sum = MulAdd(x, x, sum);
      }
      const V32 q = MulAdd(alpha, sum, bias);
      const int64_t at = channel * p.pixels + i;
      if (HWY_LIKELY(InRange(d, q))) {
        StoreUpTo(DivideByPower(d, LoadUpTo(d, src + at, count), q, p.beta), d, dst + at, count);
        continue;
      }
      for (int64_t k = 0; k < count; ++k) dst[at + k] = LrnScalar(p, src + i + k, p.pixels, channel);
    }
  }
}

constexpr int64_t kLineChannels = 2048;

// The values of channels [first, first + n) of one pixel; 0 outside the image.
HWY_INLINE void GatherChannels(const LrnParams& p, int block, const float* pixel, int64_t first, int64_t n,
                               float* line) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = first + i;
    line[i] = c < 0 || c >= p.channels ? 0.0f : pixel[c / block * p.pixels * block + c % block];
  }
}

// The n channels of `line` behind its first (size - 1) / 2; size / 2 more follow them.
HWY_INLINE void LrnLine(const LrnParams& p, const float* line, int64_t n, float* out) {
  const F32 d;
  const int64_t lanes = Lanes(d), half = (p.size - 1) / 2;
  const V32 alpha = Set(d, static_cast<float>(static_cast<double>(p.alpha) / p.size)), bias = Set(d, p.bias);
  LrnParams single = p;  // the line as an image of its own
  single.channels = n + p.size - 1;
  for (int64_t c = 0; c < n; c += lanes) {
    V32 sum = Zero(d);
    for (int64_t k = 0; k < p.size; ++k) {
      const V32 x = LoadU(d, line + c + k);
      sum = MulAdd(x, x, sum);
    }
    const V32 q = MulAdd(alpha, sum, bias);
    if (HWY_LIKELY(InRange(d, q))) {
      StoreU(DivideByPower(d, LoadU(d, line + c + half), q, p.beta), d, out + c);
      continue;
    }
    for (int64_t k = 0; k < std::min(lanes, n - c); ++k) out[c + k] = LrnScalar(single, line, 1, half + c + k);
  }
}

void RunLrnBlocked(const LrnParams& p, int block, const float* src, int64_t begin, int64_t end, float* dst) {
  const int64_t half = (p.size - 1) / 2;
  const int64_t tile = kLineChannels - (p.size - 1);
  float line[kLineChannels + kMaxLanes] = {}, out[kLineChannels + kMaxLanes];
  const int64_t padded = (p.channels + block - 1) / block * block;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t first = 0; first < p.channels; first += tile) {
      const int64_t n = std::min(tile, p.channels - first);
      GatherChannels(p, block, src + i * block, first - half, n + p.size - 1, line);
      LrnLine(p, line, n, out);
      for (int64_t c = first; c < first + n; ++c) dst[(c / block * p.pixels + i) * block + c % block] = out[c - first];
    }
    for (int64_t c = p.channels; c < padded; ++c) dst[(c / block * p.pixels + i) * block + c % block] = 0.0f;
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunLrn);
HWY_EXPORT(RunLrnBlocked);

void Lrn(const LrnParams& params, const float* src, int64_t begin, int64_t end, float* dst) {
  PLUMB_SIMD_CALL(RunLrn)(params, src, begin, end, dst);
}

void LrnBlocked(const LrnParams& params, int block, const float* src, int64_t begin, int64_t end, float* dst) {
  PLUMB_SIMD_CALL(RunLrnBlocked)(params, block, src, begin, end, dst);
}

}  // namespace plumb::simd
#endif
