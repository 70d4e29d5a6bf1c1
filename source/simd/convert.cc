// SPDX-License-Identifier: Apache-2.0
// float16 conversions with the CPU's own instructions (F16C, AVX-512, NEON); SSE4 has none and takes base/half.h.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/convert.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "hwy/highway.h"
#include "simd/convert.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

using F16 = Rebind<hwy::float16_t, F32>;
constexpr bool kHasInstruction = HWY_TARGET != HWY_SSE4;

void RunFloatToHalf(const float* src, uint16_t* dst, size_t n) {
  const F32 d;
  const F16 narrow;
  size_t i = 0;
  for (; kHasInstruction && i + Lanes(d) <= n; i += Lanes(d)) {
    StoreU(DemoteTo(narrow, LoadU(d, src + i)), narrow, reinterpret_cast<hwy::float16_t*>(dst + i));
  }
  for (; i < n; ++i) dst[i] = plumb::FloatToHalf(src[i]);
}

void RunHalfToFloat(const uint16_t* src, float* dst, size_t n) {
  const F32 d;
  const F16 narrow;
  size_t i = 0;
  for (; kHasInstruction && i + Lanes(d) <= n; i += Lanes(d)) {
    StoreU(PromoteTo(d, LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(src + i))), d, dst + i);
  }
  for (; i < n; ++i) dst[i] = plumb::HalfToFloat(src[i]);
}

using I32 = Rebind<int32_t, F32>;

void RunFloatToInt(const float* src, int32_t* dst, size_t n) {
  const F32 d;
  const I32 whole;
  HWY_ALIGN int32_t rest[kMaxLanes];
  for (size_t i = 0; i < n; i += Lanes(d)) {
    const V32 x = LoadUpTo(d, src + i, static_cast<int64_t>(n - i));
    Store(ConvertTo(whole, IfThenElseZero(Eq(x, x), x)), whole, rest);
    std::memcpy(dst + i, rest, std::min(Lanes(d), n - i) * sizeof(int32_t));
  }
}

void RunIntToFloat(const int32_t* src, float* dst, size_t n) {
  const F32 d;
  const I32 whole;
  size_t i = 0;
  for (; i + Lanes(d) <= n; i += Lanes(d)) StoreU(ConvertTo(d, LoadU(whole, src + i)), d, dst + i);
  for (; i < n; ++i) dst[i] = static_cast<float>(src[i]);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunFloatToHalf);
HWY_EXPORT(RunHalfToFloat);
HWY_EXPORT(RunFloatToInt);
HWY_EXPORT(RunIntToFloat);

void FloatToHalf(const float* src, uint16_t* dst, size_t n) { PLUMB_SIMD_CALL(RunFloatToHalf)(src, dst, n); }
void HalfToFloat(const uint16_t* src, float* dst, size_t n) { PLUMB_SIMD_CALL(RunHalfToFloat)(src, dst, n); }
void FloatToInt(const float* src, int32_t* dst, size_t n) { PLUMB_SIMD_CALL(RunFloatToInt)(src, dst, n); }
void IntToFloat(const int32_t* src, float* dst, size_t n) { PLUMB_SIMD_CALL(RunIntToFloat)(src, dst, n); }

}  // namespace plumb::simd
#endif
