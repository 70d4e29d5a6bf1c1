// SPDX-License-Identifier: Apache-2.0
// GridSample (op/grid_sample.h): taps and weights per spatial dim, their products summed in float64.
// tau as for resizing (tolerance.md, "Other operators"; sampling itself is not measured): linear 12 u (max |nb| + range
// (1 + |coordinate|)), cubic 128 u max |nb| + 12 u range (1 + |coordinate|), nearest 0 but where rounding may hit the
// neighbour. Behind an uncertain grid nothing can be judged.
#include "op/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

// Along one dim: up to four elements (-1: outside, 0) with their weights.
struct GridSampleTaps {
  int count = 0;
  int64_t index[4] = {0, 0, 0, 0};
  double weight[4] = {0, 0, 0, 0};
  int64_t other = 0;  // nearest: what rounding may hit instead
  double coordinate = 0;
};

double Reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double away = x < low ? low - x : x - high;
  if (away <= 0) return x;
  const double turns = std::floor(away / range), rest = away - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

class GridSampleAxis {
 public:
  GridSampleAxis(const GridSampleParam& p, int64_t size) : p_(p), size_(size) {
    const auto length = static_cast<double>(size);
    low_ = p.align_corners ? 0 : -0.5;
    high_ = p.align_corners ? length - 1 : length - 0.5;
  }

  GridSampleTaps At(double position) const {
    const auto length = static_cast<double>(size_);
    double x = p_.align_corners ? (position + 1) / 2 * (length - 1) : ((position + 1) * length - 1) / 2;
    if (!(std::fabs(x) < 0x1p40)) x = -0x1p40;
    GridSampleTaps t;
    t.coordinate = x;
    if (p_.mode == 1) {
      const double slack = 0x1p-21 * (std::fabs(x) + 1);
      t.count = 1;
      t.weight[0] = 1;
      t.index[0] = Element(std::nearbyint(x));
      const int64_t below = Element(std::nearbyint(x - slack));
      t.other = below != t.index[0] ? below : Element(std::nearbyint(x + slack));
      return t;
    }
    x = Inside(x);
    const double base = std::floor(x), part = x - base;
    t.count = p_.mode == 2 ? 2 : 4;
    for (int k = 0; k < t.count; ++k) {
      const double step = p_.mode == 2 ? k : k - 1;
      t.index[k] = Element(base + step);
      t.weight[k] = Weight(step - part);
    }
    return t;
  }

 private:
  double Weight(double distance) const {
    constexpr double kA = -0.75;
    const double d = std::fabs(distance);
    if (p_.mode == 2) return std::max(0.0, 1 - d);
    return d <= 1 ? ((kA + 2) * d - (kA + 3)) * d * d + 1 : ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  }
  double Inside(double x) const {
    if (p_.pad_type == 0 || (x >= low_ && x <= high_)) return x;
    if (p_.pad_type == 1) return Reflected(x, low_, high_);
    return std::clamp(x, 0.0, static_cast<double>(size_ - 1));
  }
  // The element at whole number x, or -1.
  int64_t Element(double x) const {
    if (p_.pad_type == 1) x = std::nearbyint(Reflected(x, low_, high_));
    if (p_.pad_type != 0) x = std::clamp(x, 0.0, static_cast<double>(size_ - 1));
    return x >= 0 && x < static_cast<double>(size_) ? static_cast<int64_t>(x) : -1;
  }

  const GridSampleParam& p_;
  int64_t size_;
  double low_, high_;
};

struct Sum {
  double value = 0, low = INFINITY, high = -INFINITY, tau2 = 0;
};

// All products of taps of dims d ...; `at` is the element so far, -1 once a tap lies outside.
template <class T>
void AddTaps(const std::vector<GridSampleTaps>& taps, const Shape& x, const T* data, const double* tau, size_t d,
             int64_t at, double weight, Sum* sum) {
  if (d == taps.size()) {
    const double value = at < 0 ? 0 : static_cast<double>(data[at]);
    sum->value += weight * value;
    sum->low = std::min(sum->low, value);
    sum->high = std::max(sum->high, value);
    if (tau != nullptr && at >= 0) sum->tau2 += weight * weight * tau[at] * tau[at];
    return;
  }
  for (int k = 0; k < taps[d].count; ++k) {
    const int64_t index = taps[d].index[k];
    const int64_t next = at < 0 || index < 0 ? -1 : at * x[static_cast<int>(d) + 2] + index;
    AddTaps(taps, x, data, tau, d + 1, next, weight * taps[d].weight[k], sum);
  }
}

// Nearest: the range over the elements that rounding may hit.
template <class T>
Sum Alternatives(std::vector<GridSampleTaps> taps, const Shape& x, const T* data) {
  Sum sum;
  for (GridSampleTaps& t : taps) {
    t.count = 2;
    t.index[1] = t.other;
  }
  AddTaps(taps, x, data, nullptr, 0, 0, 1, &sum);
  return sum;
}

Status ComputeGridSample(const ReferenceArgs& args, const BoundArgs* bound) {
  const auto& p = ParamOf<GridSampleParam>(args.layer);
  const Shape &x = args.inputs[0]->shape(), &out = args.outputs[0]->shape();
  const auto spatial = static_cast<size_t>(x.rank() - 2);
  std::vector<GridSampleAxis> axes;
  for (size_t d = 0; d < spatial; ++d) axes.emplace_back(p, x[static_cast<int>(d) + 2]);
  const int64_t positions = out.CountFrom(2), plane = x.CountFrom(2);
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* grid = args.inputs[1]->data<T>();
    ParallelFor(out[0] * positions, kElementGrain / 16, [&](int64_t begin, int64_t end) {
      std::vector<GridSampleTaps> taps(spatial);
      for (int64_t r = begin; r < end; ++r) {
        double coordinate = 0;
        for (size_t d = 0; d < spatial; ++d) {
          taps[d] = axes[d].At(
              static_cast<double>(grid[(r + 1) * static_cast<int64_t>(spatial) - 1 - static_cast<int64_t>(d)]));
          coordinate = std::max(coordinate, std::fabs(taps[d].coordinate));
        }
        for (int64_t c = 0; c < out[1]; ++c) {
          const int64_t channel = r / positions * out[1] + c, i = channel * positions + r % positions;
          const T* data = args.inputs[0]->data<T>() + channel * plane;
          const double* tau_x = bound == nullptr ? nullptr : InputTau(*bound, 0);
          Sum sum;
          AddTaps(taps, x, data, tau_x == nullptr ? nullptr : tau_x + channel * plane, 0, 0, 1, &sum);
          args.outputs[0]->data<T>()[i] = static_cast<T>(sum.value);
          if (bound == nullptr) continue;
          double& tau = bound->tau[0]->data<double>()[i];
          const double u = bound->arithmetic.u_out;
          if (p.mode == 1) {
            const Sum near = Alternatives(taps, x, data);
            tau = std::isfinite(near.high - near.low) ? near.high - near.low : 0;
          } else {
            tau = (p.mode == 3 ? 128 : 12) * u * std::max(std::fabs(sum.low), std::fabs(sum.high)) +
                  12 * u * (sum.high - sum.low) * (1 + coordinate) + 4 * kEta;
          }
          tau = Quadrature(tau, std::sqrt(sum.tau2));
        }
      }
    });
    return Status::Ok();
  });
}

Status RunGridSample(const ReferenceArgs& args) { return ComputeGridSample(args, nullptr); }
Status BoundGridSample(const ReferenceArgs& args, const BoundArgs& bound) { return ComputeGridSample(args, &bound); }

}  // namespace

ReferenceOp ReferenceGridSample() {
  ReferenceOp op{RunGridSample, BoundGridSample};
  op.propagates = false;
  return op;
}

}  // namespace plumb
