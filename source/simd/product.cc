// SPDX-License-Identifier: Apache-2.0
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/product.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/product.h"
#include "simd/product_end-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

using ProductTag = CappedTag<float, kProductChunk>;
using ProductVec = Vec<ProductTag>;
constexpr int kProductVectors = kProductColumns / static_cast<int>(MaxLanes(ProductTag()));
constexpr int kProductLanes = static_cast<int>(MaxLanes(ProductTag()));

// A row that is not stored as whole chunks, or whose activation wants other vectors.
HWY_NOINLINE void EndSlowly(const float* sums, int64_t columns, const ProductEnd& end, float* to, int64_t chunk_step) {
  const ProductTag d;
  HWY_ALIGN float values[kProductColumns];
  for (int64_t i = 0; i < kProductColumns; ++i) {
    const bool adds = end.sum && i < columns;
    values[i] = sums[i] + (adds ? to[i / kProductChunk * chunk_step + i % kProductChunk] : 0.0f);
  }
  for (int i = 0; i < kProductColumns; i += kProductLanes) Store(EndOf(d, Load(d, values + i), end), d, values + i);
  for (int64_t i = 0; i < columns; ++i) to[i / kProductChunk * chunk_step + i % kProductChunk] = values[i];
}

// Adds each row's factor, lane kLane of its x, times the weights. Without the pragmas GCC keeps the accumulators in
// memory at -O2.
template <int kLane, int kRows>
HWY_INLINE void AddFactor(const ProductVec (&x)[kRows], const float* weights,
                          ProductVec (&sum)[kRows][kProductVectors]) {
  const ProductTag d;
  ProductVec w[kProductVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kProductVectors; ++v) w[v] = LoadU(d, weights + v * kProductLanes);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const ProductVec factor = Broadcast<kLane>(x[r]);
#pragma GCC unroll 4
    for (int v = 0; v < kProductVectors; ++v) sum[r][v] = MulAdd(factor, w[v], sum[r][v]);
  }
}

// `lanes` factors of each row. NEON multiplies by one lane of a vector for nothing, so four factors are one load.
template <int kRows>
HWY_INLINE void AddFactors(const float* const (&from)[kRows], int64_t lanes, const float* weights, int64_t step,
                           ProductVec (&sum)[kRows][kProductVectors]) {
  const ProductTag d;
  ProductVec x[kRows];
  int64_t lane = 0;
  if constexpr (kProductLanes == 4) {
    for (; lane + 4 <= lanes; lane += 4, weights += 4 * step) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) x[r] = LoadU(d, from[r] + lane);
      AddFactor<0>(x, weights, sum);
      AddFactor<1>(x, weights + step, sum);
      AddFactor<2>(x, weights + 2 * step, sum);
      AddFactor<3>(x, weights + 3 * step, sum);
    }
  }
  for (; lane < lanes; ++lane, weights += step) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) x[r] = Set(d, from[r][lane]);
    AddFactor<0>(x, weights, sum);
  }
}

template <int kRows>
HWY_NOINLINE void TileOfRows(int64_t columns, const ProductSource& source, const ProductEnd& end, float* const* to,
                             int64_t chunk_step) {
  const ProductTag d;
  ProductVec sum[kRows][kProductVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kProductVectors; ++v) {
      sum[r][v] = end.bias == nullptr ? Zero(d) : LoadU(d, end.bias + v * kProductLanes);
    }
  }
  for (int64_t t = 0; t < source.taps; ++t) {
    const float* weights = source.weights + source.at[t];
    const float* from[kRows];
    for (int r = 0; r < kRows; ++r) from[r] = source.from[t * kRows + r];
    for (int64_t block = 0; block < source.blocks; ++block) {
      if (source.lanes == kProductChunk && source.weights_step == kProductColumns) {  // blocks: nothing to work out
        AddFactors<kRows>(from, kProductChunk, weights, kProductColumns, sum);
      } else {
        AddFactors<kRows>(from, source.lanes, weights, source.weights_step, sum);
      }
      weights += source.lanes * source.weights_step;
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) from[r] += source.step[t * kRows + r];
    }
  }
  const bool plainly = columns == kProductColumns && end.kind != ProductEnd::Kind::kSwish;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    HWY_ALIGN float values[kProductColumns];
#pragma GCC unroll 4
    for (int v = 0; v < kProductVectors; ++v) {
      if (!plainly) {
        Store(sum[r][v], d, values + v * kProductLanes);
        continue;
      }
      float* at = to[r] + v * kProductLanes / kProductChunk * chunk_step + v * kProductLanes % kProductChunk;
      const ProductVec y = end.sum ? Add(sum[r][v], LoadU(d, at)) : sum[r][v];
      StoreU(EndOf(d, y, end), d, at);
    }
    if (!plainly) EndSlowly(values, columns, end, to[r], chunk_step);
  }
}

void RunProductTile(int rows, int64_t columns, const ProductSource& source, const ProductEnd& end, float* const* to,
                    int64_t chunk_step) {
  switch (rows) {
    case 1: return TileOfRows<1>(columns, source, end, to, chunk_step);
    case 2: return TileOfRows<2>(columns, source, end, to, chunk_step);
    case 3: return TileOfRows<3>(columns, source, end, to, chunk_step);
    default: return TileOfRows<4>(columns, source, end, to, chunk_step);
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunProductTile);

void ProductTile(int rows, int64_t columns, const ProductSource& source, const ProductEnd& end, float* const* to,
                 int64_t chunk_step) {
  PLUMB_SIMD_CALL(RunProductTile)(rows, columns, source, end, to, chunk_step);
}

}  // namespace plumb::simd
#endif
