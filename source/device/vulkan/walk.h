// Walks: how several dense operands are visited in the order of one output, as few dims as possible.
#ifndef PLUMB_DEVICE_VULKAN_WALK_H_
#define PLUMB_DEVICE_VULKAN_WALK_H_

#include <vector>

#include "plumb/shape.h"

namespace plumb::vulkan {

struct Walk {
  std::vector<int64_t> dims;                  // outermost first; at least one
  std::vector<std::vector<int64_t>> strides;  // per operand, one per dim, in elements
  size_t rank() const { return dims.size(); }
};

// Drops dims of 1 and joins neighbours that one stride walks in every operand.
void Simplify(Walk* walk);
// NumPy broadcasting of the operands to `out`, simplified.
Walk BroadcastWalk(const std::vector<Shape>& operands, const Shape& out);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_WALK_H_
