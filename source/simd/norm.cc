// SPDX-License-Identifier: Apache-2.0
// Two-pass moments in float64 (a one-pass variance loses everything where the mean is large) and their application.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/norm.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <cmath>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/norm.h"
#include "simd/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

struct SquaredDistance {
  double mean;
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const V distance = Sub(x, Set(DFromV<V>(), mean));
    return Mul(distance, distance);
  }
};

void RunMoments(const float* src, int64_t n, double epsilon, RowMoments* moments) {
  const double count = static_cast<double>(n);
  moments->mean = SumRow(src, n) / count;
  const double variance = SumRow(src, n, SquaredDistance{moments->mean}) / count;
  moments->inverse_std = 1 / std::sqrt(variance + epsilon);
}

struct NormOp {
  float mean, scale, beta;
  HWY_INLINE V32 operator()(F32 d, V32 x) const { return MulAdd(Sub(x, Set(d, mean)), Set(d, scale), Set(d, beta)); }
};

void RunNormRow(const float* src, int64_t n, const RowMoments& moments, float gamma, float beta, float* dst) {
  const float scale = static_cast<float>(moments.inverse_std * static_cast<double>(gamma));
  MapUnary(NormOp{static_cast<float>(moments.mean), scale, beta}, src, dst, static_cast<size_t>(n));
}

void RunLayerNormRow(const float* src, int64_t n, double epsilon, const float* gamma, const float* beta, float* dst) {
  RowMoments moments;
  RunMoments(src, n, epsilon, &moments);
  const F32 d;
  const int64_t lanes = Lanes(d);
  const V32 mean = Set(d, static_cast<float>(moments.mean));
  const V32 inverse_std = Set(d, static_cast<float>(moments.inverse_std));
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    const V32 z = Mul(Sub(LoadUpTo(d, src + i, left), mean), inverse_std);
    const V32 scale = gamma == nullptr ? Set(d, 1.0f) : LoadUpTo(d, gamma + i, left);
    const V32 shift = beta == nullptr ? Zero(d) : LoadUpTo(d, beta + i, left);
    StoreUpTo(MulAdd(z, scale, shift), d, dst + i, left);
  }
}

// One half vector of channels, so that its float64 sums are one vector.
template <int kBlock>
void InstanceNormBlocked(const float* src, int64_t pixels, double epsilon, const float* gamma, const float* beta,
                         float* dst) {
  const F64 wide;
  const HalfF32 half;
  const V64 count = Set(wide, static_cast<double>(pixels));
  for (size_t part = 0; part < kBlock; part += Lanes(wide)) {
    V64 sum = Zero(wide), squares = Zero(wide);
    for (int64_t i = 0; i < pixels; ++i) sum = Add(sum, PromoteTo(wide, LoadU(half, src + i * kBlock + part)));
    const V64 mean = Div(sum, count);
    for (int64_t i = 0; i < pixels; ++i) {
      const V64 distance = Sub(PromoteTo(wide, LoadU(half, src + i * kBlock + part)), mean);
      squares = MulAdd(distance, distance, squares);
    }
    const V64 std = Sqrt(Add(Div(squares, count), Set(wide, epsilon)));
    const auto scale = DemoteTo(half, Div(PromoteTo(wide, LoadU(half, gamma + part)), std));
    const auto shift = LoadU(half, beta + part), middle = DemoteTo(half, mean);
    for (int64_t i = 0; i < pixels; ++i) {
      const auto x = LoadU(half, src + i * kBlock + part);
      StoreU(MulAdd(Sub(x, middle), scale, shift), half, dst + i * kBlock + part);
    }
  }
}

void RunInstanceNormPlane(int block, const float* src, int64_t pixels, double epsilon, const float* gamma,
                          const float* beta, float* dst) {
  if (block == 8) return InstanceNormBlocked<8>(src, pixels, epsilon, gamma, beta, dst);
  InstanceNormBlocked<16>(src, pixels, epsilon, gamma, beta, dst);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunMoments);
HWY_EXPORT(RunNormRow);
HWY_EXPORT(RunLayerNormRow);
HWY_EXPORT(RunInstanceNormPlane);

RowMoments Moments(const float* src, int64_t n, double epsilon) {
  RowMoments moments;
  PLUMB_SIMD_CALL(RunMoments)(src, n, epsilon, &moments);
  return moments;
}

void NormRow(const float* src, int64_t n, const RowMoments& moments, float gamma, float beta, float* dst) {
  PLUMB_SIMD_CALL(RunNormRow)(src, n, moments, gamma, beta, dst);
}

void LayerNormRow(const float* src, int64_t n, double epsilon, const float* gamma, const float* beta, float* dst) {
  PLUMB_SIMD_CALL(RunLayerNormRow)(src, n, epsilon, gamma, beta, dst);
}

void InstanceNormPlane(int block, const float* src, int64_t pixels, double epsilon, const float* gamma,
                       const float* beta, float* dst) {
  PLUMB_SIMD_CALL(RunInstanceNormPlane)(block, src, pixels, epsilon, gamma, beta, dst);
}

}  // namespace plumb::simd
#endif
