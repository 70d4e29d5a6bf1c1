// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/row_lanes.h"

#include <algorithm>

#include "device/shared/axis_view.h"
#include "device/vulkan/loop_rounds.h"
#include "device/vulkan/shape_choice.h"

namespace plumb::vulkan {
namespace {

int64_t MostLanes(const KernelSpec& spec) { return std::min(AdapterOf(spec).max_invocations, 256u); }

int64_t Rounds(int64_t n, int64_t lanes, int64_t rounds) { return (n + lanes - 1) / lanes * rounds; }

// A power of two, as the tree wants it. More than 64 only where each has at least four elements, because the tree has
// a barrier per level. Where the elements of a row lie apart, those of neighbouring rows lie side by side: enough rows
// to fill a GPU are then read best by one invocation each.
uint32_t LanesOf(const KernelSpec& spec, int64_t rows, int64_t n, bool side_by_side) {
  constexpr int64_t kManyRows = 16384, kLongRow = 1024;
  if (WantsCpuShapes(spec) || (!side_by_side && rows >= kManyRows)) return 1;
  const uint32_t most = n < kLongRow ? kGroup : static_cast<uint32_t>(MostLanes(spec));
  uint32_t lanes = 1;
  while (lanes < n && lanes * 2 <= most) lanes *= 2;
  return lanes;
}

}  // namespace

void OverRows(Builder* b, int64_t rows, int64_t n, bool side_by_side, int64_t rounds, LaunchSpec* launch) {
  uint32_t lanes = LanesOf(b->spec, rows, n, side_by_side);
  while (lanes * 2 <= MostLanes(b->spec) && Rounds(n, lanes, rounds) > MaxLoopRounds(b->spec)) lanes *= 2;
  const uint32_t group = std::max(lanes, kGroup);
  launch->constants = {group, lanes};
  launch->Over(rows * lanes, group);
  if (lanes > 1) b->detail = std::to_string(lanes) + " invocations a row";
}

LaunchSpec RowLaunch(Builder* b, const std::string& shader, int begin, int end, int64_t rounds,
                     const std::vector<uint32_t>& constants) {
  const AxisView view = AxisView::Over(b->inputs[0].shape, begin, end);
  LaunchSpec launch;
  launch.shader = shader;
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  launch.push.Int(view.rows()).Int(view.n).Int(view.inner);
  OverRows(b, view.rows(), view.n, view.inner == 1, rounds, &launch);
  launch.constants.insert(launch.constants.end(), constants.begin(), constants.end());
  return launch;
}

Status RequireRow(const KernelSpec& spec, int64_t n, int64_t rounds) {
  int64_t most = 1;
  while (most * 2 <= MostLanes(spec)) most *= 2;
  return RequireLoopRounds(spec, Rounds(n, most, rounds));
}

}  // namespace plumb::vulkan
