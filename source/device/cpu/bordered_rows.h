// SPDX-License-Identifier: Apache-2.0
// Rows of a feature map with the zeros beside it written out, for kernels that read no padding.
#ifndef PLUMB_DEVICE_CPU_BORDERED_ROWS_H_
#define PLUMB_DEVICE_CPU_BORDERED_ROWS_H_

#include <cstdint>

namespace plumb::cpu {

struct BorderedRows {
  int64_t lanes = 1;              // values of a pixel: a channel block, or 1
  int64_t in_h = 0, in_w = 0;     // of a plane of the map
  int64_t pad_left = 0;           // columns in front of the map
  int64_t width = 0, height = 0;  // of a plane of the copy

  // Rows [first, first + rows), counted from the map's first, of each plane; rows <= height.
  void Copy(const float* src, int64_t planes, int64_t first, int64_t rows, float* dst) const;
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_BORDERED_ROWS_H_
