// SPDX-License-Identifier: Apache-2.0
// The micro-kernel of every sum of products: up to kProductRows rows (output pixels, rows of a matrix) times
// kProductColumns columns (output channels), kept in registers: on NEON 16 accumulators of four floats, fed by four
// loads of weights per factor and one load of each row per four, so that the multiply-adds, not the loads, are the
// limit (tools/bench/arm_instructions.py counts).
#ifndef PLUMB_SIMD_PRODUCT_H_
#define PLUMB_SIMD_PRODUCT_H_

#include <cstdint>

namespace plumb::simd {

constexpr int kProductRows = 4;
constexpr int kProductColumns = 16;
constexpr int kProductChunk = 8;  // columns that lie together in the result

// What the rows read: `taps` times `blocks` times `lanes` factors. Of tap t, row r begins at from[t * rows + r]; its
// lanes lie together, its blocks are step[t * rows + r] apart (0: all read the same, as zeros outside a map do). The
// weights of tap t begin at weights + at[t]; each factor has kProductColumns of them, weights_step apart.
// T: float, or uint16_t of f16 for kernels that a device has besides this one.
template <class T>
struct ProductSourceOf {
  int64_t taps = 0, blocks = 1, lanes = 1;
  const T* const* from = nullptr;
  const int64_t* step = nullptr;
  const int64_t* at = nullptr;
  const T* weights = nullptr;
  int64_t weights_step = kProductColumns;
};
using ProductSource = ProductSourceOf<float>;

// What happens to a sum, in this order: + bias, + what the result holds, activation.
struct ProductEnd {
  enum class Kind { kNone, kLeakyRelu, kClip, kSwish };
  Kind kind = Kind::kNone;
  float alpha = 0, beta = 0;  // kLeakyRelu: slope; kClip: low, high
  bool sum = false;
  const float* bias = nullptr;  // kProductColumns of them, or null
};

// Row r's first chunk of columns goes to to[r], the second to to[r] + chunk_step. The first `columns` are written, of
// those begun whole vectors are not touched beyond them. REQUIRES: 1 <= rows <= kProductRows, 1 <= columns <=
// kProductColumns.
void ProductTile(int rows, int64_t columns, const ProductSource& source, const ProductEnd& end, float* const* to,
                 int64_t chunk_step);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_PRODUCT_H_
