// SPDX-License-Identifier: Apache-2.0
// Where an element lies when a tensor's axes stand in another order in memory than its shape says.
#ifndef PLUMB_CHECK_CORE_AXIS_ORDER_H_
#define PLUMB_CHECK_CORE_AXIS_ORDER_H_

#include <cstdint>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

class AxisOrder {
 public:
  // order: every axis of the shape once, outermost first. Element i of the memory with its axes in that order is
  // element At(i) of the tensor.
  static AxisOrder MemoryOf(const Shape& shape, const std::vector<int>& order) {
    AxisOrder walk;
    for (size_t d = order.size(); d-- > 0;) walk.axes_.push_back({shape[order[d]], shape.CountFrom(order[d] + 1)});
    return walk;
  }
  // The inverse: element i of the tensor is element At(i) of that memory.
  static AxisOrder PlaceIn(const Shape& shape, const std::vector<int>& order) {
    std::vector<int64_t> strides(order.size(), 1);
    int64_t stride = 1;
    for (size_t d = order.size(); d-- > 0;) {
      strides[static_cast<size_t>(order[d])] = stride;
      stride *= shape[order[d]];
    }
    AxisOrder walk;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      walk.axes_.push_back({shape[axis], strides[static_cast<size_t>(axis)]});
    }
    return walk;
  }
  int64_t At(int64_t i) const {
    int64_t at = 0;
    for (const Axis& axis : axes_) {
      at += i % axis.size * axis.stride;
      i /= axis.size;
    }
    return at;
  }

 private:
  struct Axis {
    int64_t size, stride;
  };
  std::vector<Axis> axes_;  // innermost first
};

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_AXIS_ORDER_H_
