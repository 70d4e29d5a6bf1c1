// SPDX-License-Identifier: Apache-2.0
// AxisView: a dense blob as [outer, n, inner] around the axes that an operator works along.
#ifndef PLUMB_DEVICE_SHARED_AXIS_VIEW_H_
#define PLUMB_DEVICE_SHARED_AXIS_VIEW_H_

#include <algorithm>

#include "base/threads.h"
#include "plumb/tensor.h"

namespace plumb {

struct AxisView {
  int64_t outer = 1, n = 1, inner = 1;

  // The axes [begin, end) are n.
  static AxisView Over(const Shape& shape, int begin, int end) {
    return {shape.Count(0, begin), shape.Count(begin, end), shape.CountFrom(end)};
  }

  int64_t rows() const { return outer * inner; }

  // On the host: f(outer index, first column, end column) on the pool; up to 64 columns a task: contiguous loads, and
  // enough tasks.
  template <class F>
  void ForEachTile(F f) const {
    constexpr int64_t kColumns = 64, kElements = 4096;
    const int64_t tiles = (inner + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, kElements / std::max<int64_t>(1, n * std::min(inner, kColumns)));
    ParallelFor(outer * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tiles * kColumns;
        f(i / tiles, first, std::min(inner, first + kColumns));
      }
    });
  }
};

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_AXIS_VIEW_H_
