// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/winograd_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "device/shared/kernel_choice.h"
#include "device/vulkan/shape_choice.h"

namespace plumb::vulkan {
namespace {

Result<std::optional<int>> WantedWinogradTile() { return WinogradTileFromEnvironment("PLUMB_VULKAN_WINOGRAD", {2, 4}); }

Status RequireThreeByThree(const ConvolutionShape& shape) {
  if (shape.group != 1) return Status::NotSupported("needs one group, got " + std::to_string(shape.group));
  for (const WindowAxis* axis : {&shape.window.h, &shape.window.w}) {
    if (axis->kernel == 3 && axis->stride == 1 && axis->dilation == 1) continue;
    return Status::NotSupported("needs 3x3 taps with stride and dilation 1");
  }
  return Status::Ok();
}

// What a layer costs beside its multiplications, counted in multiplications of the product kernels (doc/vulkan.md).
struct Costs {
  int64_t item;           // pixels or tiles that an invocation or a workgroup computes, whether they exist or not
  double weight;          // read once
  double before, behind;  // the product: a vector of four, written and read
  double launches;        // two more of them
};
// lavapipe with two threads, fitted to the layers in doc/vulkan.md: 28 multiplications take 1 ns, a weight 0.2 ns, a
// vector 4 ns before and 12 ns behind the product. A GPU by count: 8 multiplications go with a byte of traffic, four
// bytes are a weight, 32 a vector.
constexpr Costs kCpuCosts = {8, 6, 110, 330, 2e6}, kGpuCosts = {64, 32, 256, 256, 4e6};

double RoundUp(int64_t count, int64_t to) { return static_cast<double>((count + to - 1) / to * to); }

// Products of `matrices` matrices of weights with `points` pixels or tiles.
double ProductCost(const ConvolutionShape& shape, double matrices, double points, const Costs& costs) {
  const double channels = static_cast<double>(shape.in_channels) * static_cast<double>(shape.out_channels);
  return matrices * channels * (points + costs.weight);
}

double DirectCost(const ConvolutionShape& shape, const Costs& costs) {
  const double image = RoundUp(shape.window.h.out * shape.window.w.out, costs.item);
  return ProductCost(shape, 9, static_cast<double>(shape.batch) * image, costs);
}

double WinogradCost(const ConvolutionShape& shape, int64_t m, const Costs& costs) {
  const int64_t h = (shape.window.h.out + m - 1) / m, w = (shape.window.w.out + m - 1) / m;
  const int64_t tiles = shape.batch * h * w;
  const auto frequencies = static_cast<double>((m + 2) * (m + 2));
  const double vectors =
      RoundUp(shape.in_channels, 4) / 4 * costs.before + RoundUp(shape.out_channels, 8) / 4 * costs.behind;
  return ProductCost(shape, frequencies, RoundUp(tiles, costs.item), costs) +
         frequencies * static_cast<double>(tiles) * vectors + costs.launches;
}

}  // namespace

Status CheckWinogradEnvironment() { return WantedWinogradTile().status(); }

Result<int64_t> ChooseWinogradTile(const KernelSpec& spec, const ConvolutionShape& shape) {
  PLUMB_RETURN_IF_ERROR(RequireThreeByThree(shape));
  PLUMB_ASSIGN_OR_RETURN(const std::optional<int> wanted, WantedWinogradTile());
  if (wanted == 0) return Status::NotSupported("is switched off by PLUMB_VULKAN_WINOGRAD=off");
  if (wanted) return *wanted;
  const Costs& costs = WantsCpuShapes(spec) ? kCpuCosts : kGpuCosts;
  const double two = WinogradCost(shape, 2, costs), four = WinogradCost(shape, 4, costs);
  const double gain = DirectCost(shape, costs) / std::min(two, four);
  // Less is not worth the digits that it costs.
  if (gain > 1.1) return two < four ? 2 : 4;
  return Status::NotSupported(
      fmt::format("would not pay (PLUMB_VULKAN_WINOGRAD=4 takes it all the same): direct sums cost {} % of it",
                  static_cast<int>(gain * 100)));
}

}  // namespace plumb::vulkan
