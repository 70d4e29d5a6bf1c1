// SPDX-License-Identifier: Apache-2.0
// GridSample in plain order: positions in double, interpolation in the blob's own dtype.
#include <algorithm>
#include <cmath>

#include "device/cpu/function_kernel.h"
#include "op/grid_sample.h"

namespace plumb::cpu {
namespace {

// One dim of the sampled blob.
struct Side {
  int64_t size = 1;
  double low = 0, high = 0;  // reflection turns round here
};

double Mirror(const Side& side, double x) {
  const double range = side.high - side.low;
  if (range <= 0) return side.low;
  double at = std::fmod(std::fabs(x - side.low), 2 * range);
  if (at > range) at = 2 * range - at;
  return side.low + at;
}

// Element offset of whole position x, or -1 where it counts 0.
int64_t OffsetOf(const GridSampleParam& p, const Side& side, double x) {
  if (p.pad_type == 1) x = std::nearbyint(Mirror(side, x));
  const double last = static_cast<double>(side.size - 1);
  if (p.pad_type != 0) return static_cast<int64_t>(std::min(std::max(x, 0.0), last));
  return x < 0 || x > last ? -1 : static_cast<int64_t>(x);
}

struct Neighbours {
  int count = 1;
  int64_t at[4] = {0, 0, 0, 0};
  double weight[4] = {1, 0, 0, 0};
};

void Cubic(double part, double* weight) {  // a = -0.75
  const double rest = 1 - part;
  weight[0] = -0.75 * part * rest * rest;
  weight[1] = 1 + part * part * (1.25 * part - 2.25);
  weight[2] = 1 + rest * rest * (1.25 * rest - 2.25);
  weight[3] = -0.75 * rest * part * part;
}

Neighbours NeighboursOf(const GridSampleParam& p, const Side& side, double position) {
  const double size = static_cast<double>(side.size), g = position + 1;
  double x = p.align_corners ? g * (size - 1) / 2 : (g * size - 1) / 2;
  if (!(std::fabs(x) < 0x1p40)) x = -0x1p40;
  Neighbours n;
  if (p.mode == 1) {
    n.at[0] = OffsetOf(p, side, std::nearbyint(x));
    return n;
  }
  if (p.pad_type != 0 && (x < side.low || x > side.high))
    x = p.pad_type == 1 ? Mirror(side, x) : std::min(std::max(x, 0.0), size - 1);
  const double below = std::floor(x), part = x - below;
  n.count = p.mode == 2 ? 2 : 4;
  if (p.mode == 3) {
    Cubic(part, n.weight);
  } else {
    n.weight[0] = 1 - part;
    n.weight[1] = part;
  }
  for (int k = 0; k < n.count; ++k) n.at[k] = OffsetOf(p, side, below + k - (p.mode == 3 ? 1 : 0));
  return n;
}

// The weighted sum over the products of all dims' neighbours.
template <class T>
T Gather(const std::vector<Neighbours>& dims, const std::vector<Side>& sides, size_t d, int64_t at, const T* x) {
  if (d == dims.size()) return x[at];
  T sum = 0;
  for (int k = 0; k < dims[d].count; ++k) {
    if (dims[d].at[k] < 0) continue;
    sum += static_cast<T>(dims[d].weight[k]) * Gather(dims, sides, d + 1, at * sides[d].size + dims[d].at[k], x);
  }
  return sum;
}

template <class T>
Status GridSampleOf(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<GridSampleParam>(layer);
  const int spatial = in[0].shape.rank() - 2;
  std::vector<Side> sides;
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = in[0].shape[d + 2];
    const double edge = p.align_corners ? 0 : 0.5;
    sides.push_back({size, -edge, static_cast<double>(size - 1) + edge});
  }
  constexpr int64_t kPositionGrain = 1024;  // positions that are worth a second thread
  const int64_t channels = in[0].shape[1], plane = in[0].shape.CountFrom(2), positions = out[0].shape.CountFrom(2);
  ParallelFor(in[0].shape[0] * positions, kPositionGrain, [&](int64_t begin, int64_t end) {
    std::vector<Neighbours> dims(sides.size());
    for (int64_t r = begin; r < end; ++r) {
      const T* grid = in[1].host<T>() + r * spatial;
      for (int d = 0; d < spatial; ++d) {
        const auto at = static_cast<size_t>(d);
        dims[at] = NeighboursOf(p, sides[at], static_cast<double>(grid[spatial - 1 - d]));
      }
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = r / positions * channels + c;
        out[0].host<T>()[channel * positions + r % positions] =
            Gather(dims, sides, 0, 0, in[0].host<T>() + channel * plane);
      }
    }
  });
  return Status::Ok();
}

Status GridSample(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  return in[0].dtype == DType::kF64 ? GridSampleOf<double>(layer, in, out) : GridSampleOf<float>(layer, in, out);
}

Status SupportsGridSample(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireFirst(Takes::kFloats, spec.inputs[0].dtype));
  if (spec.inputs[1].dtype == spec.inputs[0].dtype) return Status::Ok();
  return Status::NotSupported(
      fmt::format("takes positions of {}, found {}", DTypeName(spec.inputs[0].dtype), DTypeName(spec.inputs[1].dtype)));
}

}  // namespace

const KernelFunctions kernel_grid_sample = {SupportsGridSample, MakeKernel<FunctionKernel<GridSample, Takes::kFloats>>};

}  // namespace plumb::cpu
