// SPDX-License-Identifier: Apache-2.0
#include "device/shared/walk.h"

#include "op/core/strided.h"

namespace plumb {

void Walk::Simplify() {
  JoinDims(&dims, &strides);
  if (!dims.empty()) return;
  dims = {1};
  for (std::vector<int64_t>& of_blob : strides) of_blob = {0};
}

int64_t Walk::count() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

Walk BroadcastWalk(const std::vector<std::vector<int64_t>>& operands, const std::vector<int64_t>& out) {
  Walk walk;
  walk.dims = out;
  for (const auto& operand : operands) walk.strides.push_back(BroadcastMap(Shape(operand), Shape(out)).strides);
  walk.Simplify();
  return walk;
}

}  // namespace plumb
