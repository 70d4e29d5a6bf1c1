// SPDX-License-Identifier: Apache-2.0
// RoiAlign and PlumbRoiAlign in plain order: positions and sums in double.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cpu/function_kernel.h"
#include "op/roi_align.h"

namespace plumb::cpu {
namespace {

// Along one dim: the points of all bins, as neighbours and the second one's weight; -1 counts 0.
struct Points {
  int64_t per_bin = 1;
  std::vector<int64_t> low, high;
  std::vector<double> part;
};

Points PointsOf(const PlumbRoiAlignParam& p, float begin, float end, int bins, int64_t size) {
  const double scale = static_cast<double>(p.base.spatial_scale), shift = p.half_pixel ? 0.5 : 0;
  const double start = static_cast<double>(begin) * scale - shift;
  double length = static_cast<double>(end) * scale - shift - start;
  if (!p.half_pixel && length < 1) length = 1;
  const double bin = length / bins, last = static_cast<double>(size - 1);
  Points points;
  points.per_bin = p.base.sampling_ratio > 0 ? p.base.sampling_ratio
                                             : static_cast<int64_t>(std::ceil(std::min(std::max(bin, 0.0), 4096.0)));
  for (int64_t i = 0; i < bins * points.per_bin; ++i) {
    const double at = start + bin * ((static_cast<double>(i) + 0.5) / static_cast<double>(points.per_bin));
    const bool none = !(at >= -1 && at <= static_cast<double>(size));
    const double inside = none ? 0 : std::min(std::max(at, 0.0), last);
    points.low.push_back(none ? -1 : static_cast<int64_t>(inside));
    points.high.push_back(std::min(static_cast<int64_t>(inside) + 1, size - 1));
    points.part.push_back(inside - std::floor(inside));
  }
  return points;
}

float BinOf(const Points& rows, const Points& columns, int64_t row, int64_t column, bool average, int64_t width,
            const float* x) {
  double sum = 0, largest = -INFINITY;
  for (int64_t i = row * rows.per_bin; i < (row + 1) * rows.per_bin; ++i) {
    for (int64_t j = column * columns.per_bin; j < (column + 1) * columns.per_bin; ++j) {
      const auto r = static_cast<size_t>(i), c = static_cast<size_t>(j);
      double terms[4] = {0, 0, 0, 0};
      if (rows.low[r] >= 0 && columns.low[c] >= 0) {
        const float *upper = x + rows.low[r] * width, *lower = x + rows.high[r] * width;
        const double down = rows.part[r], right = columns.part[c];
        terms[0] = (1 - down) * (1 - right) * static_cast<double>(upper[columns.low[c]]);
        terms[1] = (1 - down) * right * static_cast<double>(upper[columns.high[c]]);
        terms[2] = down * (1 - right) * static_cast<double>(lower[columns.low[c]]);
        terms[3] = down * right * static_cast<double>(lower[columns.high[c]]);
      }
      for (const double term : terms) largest = std::max(largest, term);
      sum += terms[0] + terms[1] + terms[2] + terms[3];
    }
  }
  const int64_t count = rows.per_bin * columns.per_bin;
  if (count == 0) return 0;
  return static_cast<float>(average ? sum / static_cast<double>(count) : largest);
}

Status RoiAlign(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const PlumbRoiAlignParam p = RoiParamOf(layer);
  const Shape& x = in[0].shape;
  const Tensor images = ViewOf(in[2]);
  for (int64_t r = 0; r < out[0].shape[0]; ++r) {
    const float* roi = in[1].host<float>() + r * 4;
    const auto image = static_cast<int64_t>(images.ValueAt(r));
    if (image < 0 || image >= x[0]) {
      return Status::InvalidArgument(fmt::format("batch index {} of region {} is outside {}", image, r, x.ToString()));
    }
    const Points rows = PointsOf(p, roi[1], roi[3], p.base.out_h, x[2]);
    const Points columns = PointsOf(p, roi[0], roi[2], p.base.out_w, x[3]);
    ParallelFor(x[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        float* y = out[0].host<float>() + (r * x[1] + c) * p.base.out_h * p.base.out_w;
        const float* plane = in[0].host<float>() + (image * x[1] + c) * x.CountFrom(2);
        for (int64_t i = 0; i < int64_t{p.base.out_h} * p.base.out_w; ++i)
          y[i] = BinOf(rows, columns, i / p.base.out_w, i % p.base.out_w, p.base.mode == 1, x[3], plane);
      }
    });
  }
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_roi_align = FunctionKernelOf<RoiAlign, Takes::kF32>();

}  // namespace plumb::cpu
