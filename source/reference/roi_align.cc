// SPDX-License-Identifier: Apache-2.0
// RoiAlign, PlumbRoiAlign (op/roi_align.h), point by point in float64.
// tau, not measured: of the interpolation 12 u (max |nb| + range (1 + |coordinate|)) over all points of a bin, with the
// sum's 12 sqrt(sig^2 + u^2 y^2 + d^2) for averages; uncertain x: their largest tau. Uncertain regions cannot be
// judged.
#include "op/roi_align.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"
#include "reference/core/serial_sum.h"

namespace plumb {
namespace {

struct RoiAlignAxis {
  double start = 0, bin = 0;
  int64_t points = 1;  // per bin
};

RoiAlignAxis AxisOfRoiAlign(const PlumbRoiAlignParam& p, double begin, double end, int bins) {
  const double scale = static_cast<double>(p.base.spatial_scale), offset = p.half_pixel ? 0.5 : 0;
  RoiAlignAxis a;
  a.start = begin * scale - offset;
  double length = end * scale - offset - a.start;
  if (!p.half_pixel) length = std::max(length, 1.0);
  a.bin = length / bins;
  a.points = p.base.sampling_ratio;
  if (a.points == 0) a.points = static_cast<int64_t>(std::ceil(std::clamp(a.bin, 0.0, 4096.0)));
  return a;
}

// The two neighbours of a position and the weight of the second; none: it counts 0.
struct Pair {
  bool none = false;
  int64_t low = 0, high = 0;
  double part = 0;
};

Pair Neighbours(double at, int64_t size) {
  Pair pair;
  const auto length = static_cast<double>(size);
  pair.none = !(at >= -1 && at <= length);
  if (pair.none) return pair;
  at = std::clamp(at, 0.0, length - 1);
  pair.low = static_cast<int64_t>(at);
  pair.high = std::min(pair.low + 1, size - 1);
  pair.part = at - static_cast<double>(pair.low);
  return pair;
}

struct Bin {
  double y = 0, tau = 0;
};

// One bin of one channel.
template <class T>
Bin BinOf(const PlumbRoiAlignParam& p, const RoiAlignAxis axes[2], int64_t row, int64_t column, const Shape& x,
          const T* data, const double* tau_x, const Arithmetic& arithmetic) {
  const int64_t points = axes[0].points * axes[1].points;
  SerialSum sum(points);
  double largest = -INFINITY, low = 0, high = 0, coordinate = 0, inherited = 0;
  for (int64_t i = 0; i < points; ++i) {
    const double h =
        axes[0].start + axes[0].bin * (static_cast<double>(row) + (static_cast<double>(i / axes[1].points) + 0.5) /
                                                                      static_cast<double>(axes[0].points));
    const double w =
        axes[1].start + axes[1].bin * (static_cast<double>(column) + (static_cast<double>(i % axes[1].points) + 0.5) /
                                                                         static_cast<double>(axes[1].points));
    const Pair rows = Neighbours(h, x[2]), columns = Neighbours(w, x[3]);
    const bool none = rows.none || columns.none;
    double value = 0;
    coordinate = std::max({coordinate, std::fabs(h), std::fabs(w)});
    for (int k = 0; k < 4; ++k) {
      const int64_t at = (k < 2 ? rows.low : rows.high) * x[3] + (k % 2 == 0 ? columns.low : columns.high);
      const double weight = (k < 2 ? 1 - rows.part : rows.part) * (k % 2 == 0 ? 1 - columns.part : columns.part);
      const double term = none ? 0 : weight * static_cast<double>(data[at]);
      value += term;
      largest = std::max(largest, term);
      if (none) continue;
      low = std::min(low, static_cast<double>(data[at]));
      high = std::max(high, static_cast<double>(data[at]));
      if (tau_x != nullptr) inherited = std::max(inherited, tau_x[at]);
    }
    sum.Add(value);
  }
  Bin bin;
  const double n = static_cast<double>(std::max<int64_t>(1, points));
  bin.y = p.base.mode == 1 ? sum.value() / n : points == 0 ? 0 : largest;
  const double u = arithmetic.u, u_out = arithmetic.u_out;
  bin.tau = 12 * u * (std::max(-low, high) + (high - low) * (1 + coordinate)) + 4 * kEta;
  if (p.base.mode == 1)
    bin.tau = Quadrature(bin.tau, 12 * std::sqrt((sum.sig2(u) + sum.d2()) / (n * n) + u_out * u_out * bin.y * bin.y));
  bin.tau = Quadrature(bin.tau, inherited);
  return bin;
}

Status ComputeRoiAlign(const ReferenceArgs& args, const BoundArgs* bound) {
  const PlumbRoiAlignParam p = RoiParamOf(args.layer);
  const Shape &x = args.inputs[0]->shape(), &out = args.outputs[0]->shape();
  const double* tau_x = bound == nullptr ? nullptr : InputTau(*bound, 0);
  const Arithmetic arithmetic = bound == nullptr ? Arithmetic() : bound->arithmetic;
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    for (int64_t r = 0; r < out[0]; ++r) {
      const T* roi = args.inputs[1]->data<T>() + r * 4;
      const auto image = static_cast<int64_t>(args.inputs[2]->ValueAt(r));
      if (image < 0 || image >= x[0]) {
        return Status::InvalidArgument(
            fmt::format("batch index {} of region {} is outside {}", image, r, x.ToString()));
      }
      const RoiAlignAxis axes[2] = {
          AxisOfRoiAlign(p, static_cast<double>(roi[1]), static_cast<double>(roi[3]), p.base.out_h),
          AxisOfRoiAlign(p, static_cast<double>(roi[0]), static_cast<double>(roi[2]), p.base.out_w)};
      for (int64_t i = 0; i < out.CountFrom(1); ++i) {
        const int64_t channel = (image * x[1] + i / out.CountFrom(2)) * x.CountFrom(2);
        const int64_t row = i / out[3] % out[2], column = i % out[3];
        const Bin bin = BinOf(p, axes, row, column, x, args.inputs[0]->data<T>() + channel,
                              tau_x == nullptr ? nullptr : tau_x + channel, arithmetic);
        args.outputs[0]->data<T>()[r * out.CountFrom(1) + i] = static_cast<T>(bin.y);
        if (bound != nullptr) bound->tau[0]->data<double>()[r * out.CountFrom(1) + i] = bin.tau;
      }
    }
    return Status::Ok();
  });
}

Status RunRoiAlign(const ReferenceArgs& args) { return ComputeRoiAlign(args, nullptr); }
Status BoundRoiAlign(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeRoiAlign(args, &bound); }

ReferenceOp OpRoiAlign() {
  ReferenceOp op{RunRoiAlign, BoundRoiAlign};
  op.propagates = false;
  return op;
}

}  // namespace

ReferenceOp ReferenceRoiAlign() { return OpRoiAlign(); }
ReferenceOp ReferencePlumbRoiAlign() { return OpRoiAlign(); }

}  // namespace plumb
