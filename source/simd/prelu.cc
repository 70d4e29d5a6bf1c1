// SPDX-License-Identifier: Apache-2.0
// PReLU with the slopes of a channel block in one vector; a single channel is a LeakyRelu.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/prelu.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/prelu.h"
#include "simd/unary.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

template <int kBlock>
void PreluBlocked(const float* src, int64_t pixels, const float* slope, float* dst) {
  const CappedTag<float, kBlock> d;
  for (size_t part = 0; part < kBlock; part += Lanes(d)) {
    const auto by = LoadU(d, slope + part);
    for (int64_t i = 0; i < pixels; ++i) {
      const auto x = LoadU(d, src + i * kBlock + part);
      StoreU(IfThenElse(Lt(x, Zero(d)), Mul(x, by), x), d, dst + i * kBlock + part);
    }
  }
}

void RunPreluPlane(int block, const float* src, int64_t pixels, const float* slope, float* dst) {
  if (block == 8) return PreluBlocked<8>(src, pixels, slope, dst);
  PreluBlocked<16>(src, pixels, slope, dst);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunPreluPlane);

void PreluPlane(int block, const float* src, int64_t pixels, const float* slope, float* dst) {
  if (block == 1) return Unary(UnaryOp::kLeakyRelu, {*slope}, src, dst, static_cast<size_t>(pixels));
  PLUMB_SIMD_CALL(RunPreluPlane)(block, src, pixels, slope, dst);
}

}  // namespace plumb::simd
#endif
