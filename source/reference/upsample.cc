// SPDX-License-Identifier: Apache-2.0
// Upsample (op/upsample.h): per axis a table of taps, then their weighted sum in float64.
// tau (tolerance.md, "Other operators"): nearest 0, but where o in / out is a whole number that fp32 may miss from
// below (30/100 is not exact), the element before it is as right; linear 12 u (max |nb| + range (1 + |coordinate|));
// cubic 128 u max |nb| + 12 u range (1 + |coordinate|), over the taps with their range; add 4 eta. Uncertain inputs add
// their weighted tau in quadrature.
#include "op/upsample.h"

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

struct UpsampleTaps {
  int count = 1;
  int64_t index[4] = {0, 0, 0, 0};
  double weight[4] = {1, 0, 0, 0};
  double coordinate = 0;
  int64_t other = 0;  // nearest: the element that rounding may hit instead
};

// Where output position o lies in the input, before it is cut to it.
double CoordinateUpsample(bool align_corners, int64_t o, int64_t in, int64_t out) {
  if (align_corners) return out == 1 ? 0 : static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1);
  return out == 1 ? -0.5 : static_cast<double>((2 * o + 1) * in) / static_cast<double>(2 * out) - 0.5;
}

UpsampleTaps Nearest(int64_t o, int64_t in, int64_t out) {
  UpsampleTaps t;
  t.index[0] = o * in / out;
  t.other = t.index[0];
  const double step = static_cast<float>(in) / static_cast<float>(out);
  const bool inexact = step * static_cast<double>(out) != static_cast<double>(in);
  if (inexact && o > 0 && o * in % out == 0) t.other = t.index[0] - 1;
  return t;
}

UpsampleTaps Linear(double coordinate, int64_t in) {
  UpsampleTaps t;
  t.coordinate = std::clamp(coordinate, 0.0, static_cast<double>(in - 1));
  t.index[0] = static_cast<int64_t>(t.coordinate);
  t.index[1] = std::min(t.index[0] + 1, in - 1);
  t.weight[1] = t.coordinate - static_cast<double>(t.index[0]);
  t.weight[0] = 1 - t.weight[1];
  t.count = 2;
  return t;
}

UpsampleTaps Cubic(double coordinate, int64_t in) {
  constexpr double kA = -0.75;
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };         // |d| <= 1
  const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };  // 1 < |d| < 2
  const double base = std::floor(coordinate);
  const double x = coordinate - base;
  UpsampleTaps t;
  t.coordinate = coordinate;
  t.count = 4;
  const double weights[4] = {far(1 + x), near(x), near(1 - x), far(2 - x)};
  for (int k = 0; k < 4; ++k) {
    t.weight[k] = weights[k];
    t.index[k] = std::clamp<int64_t>(static_cast<int64_t>(base) - 1 + k, 0, in - 1);
  }
  return t;
}

std::vector<UpsampleTaps> AxisTaps(const UpsampleShape& s, int axis) {
  const int64_t in = s.in[axis], out = s.out[axis];
  std::vector<UpsampleTaps> taps;
  for (int64_t o = 0; o < out; ++o) {
    const double coordinate = CoordinateUpsample(s.align_corners, o, in, out);
    taps.push_back(s.mode == kUpsampleNearest  ? Nearest(o, in, out)
                   : s.mode == kUpsampleLinear ? Linear(coordinate, in)
                                               : Cubic(coordinate, in));
  }
  return taps;
}

// f(plane, output element within it, taps of its row, of its column) over all of the output, on all threads.
template <class F>
void ForEachOutputUpsample(const UpsampleShape& s, F f) {
  const std::vector<UpsampleTaps> rows = AxisTaps(s, 2), columns = AxisTaps(s, 3);
  const int64_t planes = s.out.Count(0, 2);
  ParallelFor(planes * s.out[2], std::max<int64_t>(1, kElementGrain / s.out[3]), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t h = r % s.out[2];
      for (int64_t w = 0; w < s.out[3]; ++w) {
        f(r / s.out[2], h * s.out[3] + w, rows[static_cast<size_t>(h)], columns[static_cast<size_t>(w)]);
      }
    }
  });
}

template <class T>
double Interpolate(const T* x, int64_t width, const UpsampleTaps& row, const UpsampleTaps& column) {
  double sum = 0;
  for (int i = 0; i < row.count; ++i) {
    double part = 0;
    for (int j = 0; j < column.count; ++j) {
      part += column.weight[j] * static_cast<double>(x[row.index[i] * width + column.index[j]]);
    }
    sum += row.weight[i] * part;
  }
  return sum;
}

Result<UpsampleShape> ShapeOfUpsample(const ReferenceArgs& args) {
  std::vector<BlobInfo> infos;
  for (const Tensor* in : args.inputs) infos.push_back({in->dtype(), in->shape(), *in});
  return ResolveUpsample(args.layer, infos);
}

template <class T>
Status PickUpsample(const UpsampleShape& s, const ReferenceArgs& args) {
  const T* x = static_cast<const T*>(args.inputs[0]->raw());
  T* y = static_cast<T*>(args.outputs[0]->raw());
  const int64_t in_plane = s.in.CountFrom(2), out_plane = s.out.CountFrom(2);
  ForEachOutputUpsample(s, [&](int64_t plane, int64_t at, const UpsampleTaps& row, const UpsampleTaps& column) {
    y[plane * out_plane + at] = x[plane * in_plane + row.index[0] * s.in[3] + column.index[0]];
  });
  return Status::Ok();
}

Status RunUpsample(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ShapeOfUpsample(args));
  if (s.mode == kUpsampleNearest) {
    switch (DTypeSize(args.inputs[0]->dtype())) {
      case 1: return PickUpsample<uint8_t>(s, args);
      case 2: return PickUpsample<uint16_t>(s, args);
      case 4: return PickUpsample<uint32_t>(s, args);
      default: return PickUpsample<uint64_t>(s, args);
    }
  }
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const int64_t in_plane = s.in.CountFrom(2), out_plane = s.out.CountFrom(2);
    ForEachOutputUpsample(s, [&](int64_t plane, int64_t at, const UpsampleTaps& row, const UpsampleTaps& column) {
      const T* x = args.inputs[0]->data<T>() + plane * in_plane;
      args.outputs[0]->data<T>()[plane * out_plane + at] = static_cast<T>(Interpolate(x, s.in[3], row, column));
    });
    return Status::Ok();
  });
}

// How far the other element of a tie is from the one taken.
double TieTau(const double* x, int64_t width, const UpsampleTaps& row, const UpsampleTaps& column) {
  const double y = x[row.index[0] * width + column.index[0]];
  double tau = 0;
  for (const int64_t h : {row.index[0], row.other}) {
    for (const int64_t w : {column.index[0], column.other}) {
      const double distance = std::fabs(x[h * width + w] - y);
      if (std::isfinite(distance)) tau = std::max(tau, distance);
    }
  }
  return tau;
}

double InterpolationTau(const UpsampleShape& s, double u, const double* x, const UpsampleTaps& row,
                        const UpsampleTaps& column) {
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < row.count; ++i) {
    for (int j = 0; j < column.count; ++j) {
      const double value = x[row.index[i] * s.in[3] + column.index[j]];
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double largest = std::max(std::fabs(low), std::fabs(high));
  const double coordinate = std::max(std::fabs(row.coordinate), std::fabs(column.coordinate));
  return (s.mode == kUpsampleCubic ? 128 : 12) * u * largest + 12 * u * (high - low) * (1 + coordinate) + 4 * kEta;
}

// The taus of the taps, weighted, in quadrature.
double PropagatedTau(const double* tau, int64_t width, const UpsampleTaps& row, const UpsampleTaps& column) {
  double sum = 0;
  for (int i = 0; i < row.count; ++i) {
    for (int j = 0; j < column.count; ++j) {
      const double part = row.weight[i] * column.weight[j] * tau[row.index[i] * width + column.index[j]];
      sum += part * part;
    }
  }
  return std::sqrt(sum);
}

Status BoundUpsample(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunUpsample(args));
  Tensor* out_tau = bound.tau[0];
  if (!IsFloat(args.inputs[0]->dtype())) {
    std::fill_n(out_tau->data<double>(), out_tau->NumElements(), 0.0);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ShapeOfUpsample(args));
  const double* tau_x = InputTau(bound, 0);
  const int64_t in_plane = s.in.CountFrom(2), out_plane = s.out.CountFrom(2);
  ForEachOutputUpsample(s, [&](int64_t plane, int64_t at, const UpsampleTaps& row, const UpsampleTaps& column) {
    const double* x = args.inputs[0]->data<double>() + plane * in_plane;
    double& tau = out_tau->data<double>()[plane * out_plane + at];
    tau = s.mode == kUpsampleNearest ? TieTau(x, s.in[3], row, column)
                                     : InterpolationTau(s, bound.arithmetic.u_out, x, row, column);
    if (tau_x != nullptr) tau = std::hypot(tau, PropagatedTau(tau_x + plane * in_plane, s.in[3], row, column));
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferenceUpsample() { return {RunUpsample, BoundUpsample}; }

}  // namespace plumb
