// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/bordered_rows.h"

#include <algorithm>

namespace plumb::cpu {

void BorderedRows::Copy(const float* src, int64_t planes, int64_t first, int64_t rows, float* dst) const {
  const int64_t left = std::min(pad_left, width), columns = std::min(in_w, width - left);
  for (int64_t plane = 0; plane < planes; ++plane) {
    float* to = dst + plane * height * width * lanes;
    for (int64_t y = first; y < first + rows; ++y, to += width * lanes) {
      if (y < 0 || y >= in_h) {
        std::fill_n(to, width * lanes, 0.0f);
        continue;
      }
      std::fill_n(to, left * lanes, 0.0f);
      std::copy_n(src + (plane * in_h + y) * in_w * lanes, columns * lanes, to + left * lanes);
      std::fill(to + (left + columns) * lanes, to + width * lanes, 0.0f);
    }
  }
}

}  // namespace plumb::cpu
