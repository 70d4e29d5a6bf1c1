#include "device/vulkan/walk.h"

#include "op/core/strided.h"

namespace plumb::vulkan {

void Simplify(Walk* walk) {
  Walk simple;
  simple.strides.resize(walk->strides.size());
  for (size_t d = 0; d < walk->rank(); ++d) {
    const int64_t dim = walk->dims[d];
    if (dim == 1) continue;
    bool joins = !simple.dims.empty();
    for (size_t i = 0; i < walk->strides.size() && joins; ++i) {
      joins = simple.strides[i].back() == walk->strides[i][d] * dim;
    }
    if (joins) {
      simple.dims.back() *= dim;
    } else {
      simple.dims.push_back(dim);
    }
    for (size_t i = 0; i < walk->strides.size(); ++i) {
      if (joins) simple.strides[i].pop_back();
      simple.strides[i].push_back(walk->strides[i][d]);
    }
  }
  if (simple.dims.empty()) {
    simple.dims = {1};
    for (auto& strides : simple.strides) strides = {0};
  }
  *walk = std::move(simple);
}

Walk BroadcastWalk(const std::vector<Shape>& operands, const Shape& out) {
  Walk walk;
  walk.dims = out.dims();
  for (const Shape& operand : operands) walk.strides.push_back(BroadcastMap(operand, out).strides);
  Simplify(&walk);
  return walk;
}

}  // namespace plumb::vulkan
