// SPDX-License-Identifier: Apache-2.0
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/half_row.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/half_row.h"
#include "simd/product_end-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// One chunk of columns, all of it.
HWY_INLINE void EndHalfChunk(const float* sums, const float* bias, const ProductEnd& end, uint16_t* to) {
  const CappedTag<float, kProductChunk> d;
  const Rebind<hwy::float16_t, decltype(d)> narrow;
  constexpr int kLanes = static_cast<int>(MaxLanes(CappedTag<float, kProductChunk>()));
#pragma GCC unroll 2
  for (int i = 0; i < kProductChunk; i += kLanes) {
    auto* at = reinterpret_cast<hwy::float16_t*>(to + i);
    auto y = LoadU(d, sums + i);
    if (bias != nullptr) y = Add(y, LoadU(d, bias + i));
    if (end.sum) y = Add(y, PromoteTo(d, LoadU(narrow, at)));
    StoreU(DemoteTo(narrow, EndOf(d, y, end)), narrow, at);
  }
}

void RunEndHalfRow(const float* sums, int64_t columns, const ProductEnd& end, uint16_t* to, int64_t chunk_step) {
  for (int64_t first = 0; first < columns; first += kProductChunk, to += chunk_step) {
    const float* bias = end.bias == nullptr ? nullptr : end.bias + first;
    const int64_t count = std::min<int64_t>(kProductChunk, columns - first);
    if (count == kProductChunk) {
      EndHalfChunk(sums + first, bias, end, to);
      continue;
    }
    uint16_t chunk[kProductChunk] = {};
    const size_t bytes = static_cast<size_t>(count) * sizeof(uint16_t);
    std::memcpy(chunk, to, bytes);
    EndHalfChunk(sums + first, bias, end, chunk);
    std::memcpy(to, chunk, bytes);
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunEndHalfRow);

void EndHalfRow(const float* sums, int64_t columns, const ProductEnd& end, uint16_t* to, int64_t chunk_step) {
  PLUMB_SIMD_CALL(RunEndHalfRow)(sums, columns, end, to, chunk_step);
}

}  // namespace plumb::simd
#endif
