// SPDX-License-Identifier: Apache-2.0
// What follows a sum of products whose result is stored as f16.
#ifndef PLUMB_SIMD_HALF_ROW_H_
#define PLUMB_SIMD_HALF_ROW_H_

#include <cstdint>

#include "simd/product.h"

namespace plumb::simd {

// `end` of one row's kProductColumns sums in f32, rounded once; written as ProductTile writes a row.
void EndHalfRow(const float* sums, int64_t columns, const ProductEnd& end, uint16_t* to, int64_t chunk_step);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_HALF_ROW_H_
