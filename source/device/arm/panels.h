// SPDX-License-Identifier: Apache-2.0
// Weights as the micro-kernels of products read them (simd/product.h in f32, half_tile.h in f16), and rows of dense
// matrices.
#ifndef PLUMB_DEVICE_ARM_PANELS_H_
#define PLUMB_DEVICE_ARM_PANELS_H_

#include <cstdint>
#include <vector>

#include "base/half.h"
#include "device/arm/half_tile.h"
#include "simd/product.h"

namespace plumb::cpu {

constexpr int64_t kPanelFloats = 32768;  // of weights that stay in the second cache while tiles pass: 128 KiB

constexpr int64_t kPackedRows = 16;  // from so many rows on a matrix is worth a copy in panels

inline int64_t RoundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

template <class T>
T ElementOf(float value) {
  if constexpr (sizeof(T) == sizeof(float))
    return value;
  else
    return FloatToHalf(value);
}

inline void RunTile(int rows, int64_t columns, const simd::ProductSource& source, const simd::ProductEnd& end,
                    float* const* to, int64_t chunk_step) {
  simd::ProductTile(rows, columns, source, end, to, chunk_step);
}

// Panels of kProductColumns columns, of each the weights factor by factor, and the columns' biases; columns behind the
// last are zeros.
template <class T>
struct Panels {
  int64_t depth = 0, columns = 0;
  std::vector<T> data;
  std::vector<float> biases;

  Panels(int64_t depth_of_all, int64_t columns_of_all) : depth(depth_of_all), columns(columns_of_all) {
    data.resize(static_cast<size_t>(count() * depth * simd::kProductColumns));
    biases.resize(static_cast<size_t>(count() * simd::kProductColumns));
  }
  int64_t count() const { return (columns + simd::kProductColumns - 1) / simd::kProductColumns; }
  const float* bias(int64_t panel) const { return biases.data() + panel * simd::kProductColumns; }
  const T* weights(int64_t panel) const { return data.data() + panel * depth * simd::kProductColumns; }
  T& weight(int64_t factor, int64_t column) {
    const int64_t panel = column / simd::kProductColumns;
    return data[static_cast<size_t>((panel * depth + factor) * simd::kProductColumns + column % simd::kProductColumns)];
  }
  void SetBias(const float* values) {
    for (int64_t c = 0; values != nullptr && c < columns; ++c) biases[static_cast<size_t>(c)] = values[c];
  }
  size_t packed_bytes() const { return data.size() * sizeof(T) + biases.size() * sizeof(float); }
};

// One row of pointers per row of the tile, for products of dense matrices.
template <class T>
struct MatrixTile {
  const T* from[simd::kProductRows];
  T* to[simd::kProductRows];
  int64_t steps[simd::kProductRows] = {};
  int64_t at = 0;
  simd::ProductSourceOf<T> source;

  // Rows [first, first + rows) of src[.,k] and of dst, whose rows are `stride` apart.
  MatrixTile(const T* src, int64_t k, int64_t first, int rows, T* dst, int64_t stride) {
    for (int r = 0; r < rows; ++r) from[r] = src + (first + r) * k, to[r] = dst + (first + r) * stride;
    source.taps = 1, source.lanes = k;
    source.from = from, source.step = steps, source.at = &at;
  }
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_ARM_PANELS_H_
