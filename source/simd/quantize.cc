// SPDX-License-Identifier: Apache-2.0
#include "simd/targets.h"

#include <cstring>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/quantize.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/quantize.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// As many elements as there are 64-bit lanes. `I64` is a full vector, or one lane for the tail.
template <class I64>
HWY_INLINE void QuantizeLanes(I64 d, const float* src, const QuantizeRange& range, int64_t* dst) {
  const Rebind<float, I64> real;
  const Rebind<int32_t, I64> narrow;
  const auto low = Set(real, static_cast<float>(range.low - range.zero_point));
  const auto high = Set(real, static_cast<float>(range.high - range.zero_point));
  const auto x = Round(Div(LoadU(real, src), Set(real, range.scale)));
  const auto finite = IfThenElseZero(Eq(x, x), x);
  const auto steps = ConvertTo(narrow, Max(low, Min(finite, high)));
  StoreU(PromoteTo(d, Add(steps, Set(narrow, range.zero_point))), d, dst);
}

template <class I64>
HWY_INLINE void DequantizeLanes(I64 d, const int64_t* src, int64_t zero_point, float scale, float* dst) {
  const Rebind<double, I64> wide;
  const Rebind<float, I64> real;
  const auto steps = DemoteTo(real, ConvertTo(wide, Sub(LoadU(d, src), Set(d, zero_point))));
  StoreU(Mul(steps, Set(real, scale)), real, dst);
}

void RunQuantize(const float* src, const QuantizeRange& range, int64_t* dst, size_t n) {
  const ScalableTag<int64_t> d;
  size_t i = 0;
  for (; i + Lanes(d) <= n; i += Lanes(d)) QuantizeLanes(d, src + i, range, dst + i);
  for (; i < n; ++i) QuantizeLanes(CappedTag<int64_t, 1>(), src + i, range, dst + i);
}

// clamp(round_half_even(src / scale), low - zero_point, high - zero_point) + added.
template <class T>
HWY_INLINE void QuantizeNarrow(const float* src, const QuantizeRange& range, int32_t added, T* dst, size_t n) {
  const F32 d;
  const Rebind<int32_t, F32> whole;
  const Rebind<T, F32> narrow;
  const V32 low = Set(d, static_cast<float>(range.low - range.zero_point));
  const V32 high = Set(d, static_cast<float>(range.high - range.zero_point));
  HWY_ALIGN T rest[kMaxLanes];
  for (size_t i = 0; i < n; i += Lanes(d)) {
    const V32 x = Round(Div(LoadUpTo(d, src + i, static_cast<int64_t>(n - i)), Set(d, range.scale)));
    const auto steps = ConvertTo(whole, Max(low, Min(IfThenElseZero(Eq(x, x), x), high)));
    const auto values = DemoteTo(narrow, Add(steps, Set(whole, added)));
    if (i + Lanes(d) <= n) {
      StoreU(values, narrow, dst + i);
    } else {
      Store(values, narrow, rest);
      std::memcpy(dst + i, rest, (n - i) * sizeof(T));
    }
  }
}

void RunQuantizeLessZero(const float* src, const QuantizeRange& range, int16_t* dst, size_t n) {
  QuantizeNarrow(src, range, 0, dst, n);
}

void RunQuantizeBytes(const float* src, const QuantizeRange& range, uint8_t* dst, size_t n) {
  QuantizeNarrow(src, range, range.zero_point, dst, n);
}

void RunDequantize(const int64_t* src, int64_t zero_point, float scale, float* dst, size_t n) {
  const ScalableTag<int64_t> d;
  size_t i = 0;
  for (; i + Lanes(d) <= n; i += Lanes(d)) DequantizeLanes(d, src + i, zero_point, scale, dst + i);
  for (; i < n; ++i) DequantizeLanes(CappedTag<int64_t, 1>(), src + i, zero_point, scale, dst + i);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunQuantize);
HWY_EXPORT(RunQuantizeLessZero);
HWY_EXPORT(RunQuantizeBytes);
HWY_EXPORT(RunDequantize);

void Quantize(const float* src, const QuantizeRange& range, int64_t* dst, size_t n) {
  PLUMB_SIMD_CALL(RunQuantize)(src, range, dst, n);
}
void QuantizeLessZero(const float* src, const QuantizeRange& range, int16_t* dst, size_t n) {
  PLUMB_SIMD_CALL(RunQuantizeLessZero)(src, range, dst, n);
}
void QuantizeBytes(const float* src, const QuantizeRange& range, uint8_t* dst, size_t n) {
  PLUMB_SIMD_CALL(RunQuantizeBytes)(src, range, dst, n);
}
void Dequantize(const int64_t* src, int64_t zero_point, float scale, float* dst, size_t n) {
  PLUMB_SIMD_CALL(RunDequantize)(src, zero_point, scale, dst, n);
}

}  // namespace plumb::simd
#endif
