#include "device/vulkan/row_lanes.h"

#include <algorithm>

#include "device/vulkan/shape_choice.h"

namespace plumb::vulkan {
namespace {

// A power of two, as the tree wants it. More than 64 only where each has at least four elements, because the tree has
// a barrier per level. Where the elements of a row lie apart, those of neighbouring rows lie side by side: enough rows
// to fill a GPU are then read best by one invocation each.
uint32_t LanesOf(const KernelSpec& spec, int64_t rows, int64_t n, bool side_by_side) {
  constexpr int64_t kManyRows = 16384, kLongRow = 1024;
  if (WantsCpuShapes(spec) || (!side_by_side && rows >= kManyRows)) return 1;
  const uint32_t most = n < kLongRow ? kGroup : std::min(AdapterOf(spec).max_invocations, 256u);
  uint32_t lanes = 1;
  while (lanes < n && lanes * 2 <= most) lanes *= 2;
  return lanes;
}

}  // namespace

void OverRows(Builder* b, int64_t rows, int64_t n, bool side_by_side, LaunchSpec* launch) {
  const uint32_t lanes = LanesOf(b->spec, rows, n, side_by_side), group = std::max(lanes, kGroup);
  launch->constants = {group, lanes};
  launch->Over(rows * lanes, group);
  if (lanes > 1) b->detail = std::to_string(lanes) + " invocations a row";
}

}  // namespace plumb::vulkan
