// SPDX-License-Identifier: Apache-2.0
// The micro-kernel of simd/product.h on blobs of f16 in f16 arithmetic: eight multiply-adds per instruction, for CPUs
// with CpuHasHalfArithmetic() alone.
#ifndef PLUMB_DEVICE_ARM_HALF_TILE_H_
#define PLUMB_DEVICE_ARM_HALF_TILE_H_

#include <cstdint>

#include "simd/half_row.h"
#include "simd/product.h"

namespace plumb::cpu {

using HalfSource = simd::ProductSourceOf<uint16_t>;

// Products that are added up in f16 before their sum is added in f32: a sum of thousands in f16 alone would lose two of
// its three digits, and that of so few costs one instruction in twelve.
constexpr int64_t kHalfRun = 64;

// Row r's kProductColumns sums go to sums + r * kProductColumns. REQUIRES: CpuHasHalfArithmetic(), 1 <= rows <=
// kProductRows.
void HalfSums(int rows, const HalfSource& source, float* sums);

// As simd::ProductTile; what follows the sums is computed in f32 and rounded once.
inline void RunTile(int rows, int64_t columns, const HalfSource& source, const simd::ProductEnd& end,
                    uint16_t* const* to, int64_t chunk_step) {
  alignas(64) float sums[simd::kProductRows * simd::kProductColumns];
  HalfSums(rows, source, sums);
  for (int r = 0; r < rows; ++r) simd::EndHalfRow(sums + r * simd::kProductColumns, columns, end, to[r], chunk_step);
}

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_ARM_HALF_TILE_H_
