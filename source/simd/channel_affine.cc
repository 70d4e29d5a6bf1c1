// SPDX-License-Identifier: Apache-2.0
// One multiply-add, one clamp per element, on whole vectors; a plane of one channel has its scale in every lane.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/channel_affine.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/channel_affine.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

struct AffineOp {
  float scale, shift, low, high;
  HWY_INLINE V32 operator()(F32 d, V32 x) const {
    return ClampV(MulAdd(x, Set(d, scale), Set(d, shift)), Set(d, low), Set(d, high));
  }
};

template <int kBlock>
void AffineBlocked(const float* src, int64_t pixels, const float* scale, const float* shift, const Clamp& clamp,
                   float* dst) {
  const CappedTag<float, kBlock> d;
  for (size_t part = 0; part < kBlock; part += Lanes(d)) {
    const auto by = LoadU(d, scale + part), plus = LoadU(d, shift + part);
    const auto low = Set(d, clamp.low), high = Set(d, clamp.high);
    for (int64_t p = 0; p < pixels; ++p) {
      const auto x = LoadU(d, src + p * kBlock + part);
      StoreU(ClampV(MulAdd(x, by, plus), low, high), d, dst + p * kBlock + part);
    }
  }
}

void AffineRun(int block, const float* src, int64_t pixels, const float* scale, const float* shift, const Clamp& clamp,
               float* dst) {
  switch (block) {
    case 16: return AffineBlocked<16>(src, pixels, scale, shift, clamp, dst);
    case 8: return AffineBlocked<8>(src, pixels, scale, shift, clamp, dst);
    default: return MapUnary(AffineOp{*scale, *shift, clamp.low, clamp.high}, src, dst, static_cast<size_t>(pixels));
  }
}

void AffinePixel(const float* src, const float* scale, const float* shift, const Clamp& clamp, float* dst, size_t n) {
  const F32 d;
  const size_t lanes = Lanes(d);
  const V32 low = Set(d, clamp.low), high = Set(d, clamp.high);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    StoreU(ClampV(MulAdd(LoadU(d, src + i), LoadU(d, scale + i), LoadU(d, shift + i)), low, high), d, dst + i);
  if (i == n) return;
  const size_t rest = n - i;
  const V32 x = LoadPart(d, src + i, rest), by = LoadPart(d, scale + i, rest), plus = LoadPart(d, shift + i, rest);
  StorePart(ClampV(MulAdd(x, by, plus), low, high), d, dst + i, rest);
}

void AddRun(const float* a, const float* b, const Clamp& clamp, float* dst, size_t n) {
  const F32 d;
  const size_t lanes = Lanes(d);
  const V32 low = Set(d, clamp.low), high = Set(d, clamp.high);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) StoreU(ClampV(Add(LoadU(d, a + i), LoadU(d, b + i)), low, high), d, dst + i);
  if (i == n) return;
  StorePart(ClampV(Add(LoadPart(d, a + i, n - i), LoadPart(d, b + i, n - i)), low, high), d, dst + i, n - i);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(AffineRun);
HWY_EXPORT(AffinePixel);
HWY_EXPORT(AddRun);

void ChannelAffinePlane(int block, const float* src, int64_t pixels, const float* scale, const float* shift,
                        const Clamp& clamp, float* dst) {
  PLUMB_SIMD_CALL(AffineRun)(block, src, pixels, scale, shift, clamp, dst);
}

void ChannelAffinePixel(const float* src, const float* scale, const float* shift, const Clamp& clamp, float* dst,
                        size_t n) {
  PLUMB_SIMD_CALL(AffinePixel)(src, scale, shift, clamp, dst, n);
}

void AddClamp(const float* a, const float* b, const Clamp& clamp, float* dst, size_t n) {
  PLUMB_SIMD_CALL(AddRun)(a, b, clamp, dst, n);
}

}  // namespace plumb::simd
#endif
