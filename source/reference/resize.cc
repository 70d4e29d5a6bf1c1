// SPDX-License-Identifier: Apache-2.0
// PlumbResize (op/resize.h): axis by axis, each output position a table of taps, weighted sums in float64.
// tau (tolerance.md, "Other operators"): nearest 0, but where the coordinate is within rounding of the place where the
// element changes, the other one is as right; linear 12 u (max |nb| + range (1 + |coordinate|)); cubic, and antialiased
// sums, which are not measured: 128 u max |nb| + 12 u range (1 + |coordinate|), over the taps with their range; add 4
// eta. Uncertain inputs add their weighted tau in quadrature.
#include "op/resize.h"

#include <algorithm>
#include <cmath>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

constexpr double kRoundedWeight = 4;  // 8 sigma of two axes' weights rounded to whole steps (variants.h), in steps

// What one output position of an axis reads.
struct ResizeTaps {
  std::vector<int64_t> index;
  std::vector<double> weight;
  double coordinate = 0;
  bool outside = false;  // gives the extrapolation value
  int64_t other = 0;     // nearest: the element that rounding may hit instead
};

double CoordinateResize(const ResizeShape& s, const ResizeAxis& a, int64_t position) {
  const auto o = static_cast<double>(position), in = static_cast<double>(a.in);
  const double length = a.scale * in;
  switch (s.coordinates) {
    case ResizeCoordinates::kAsymmetric: return o / a.scale;
    case ResizeCoordinates::kAlignCorners: return length == 1 ? 0 : o * (in - 1) / (length - 1);
    case ResizeCoordinates::kCropAndResize: {
      const double part = (a.roi_end - a.roi_begin) * (in - 1);
      return a.roi_begin * (in - 1) + (length == 1 ? part / 2 : o * part / (length - 1));
    }
    case ResizeCoordinates::kPytorchHalfPixel: return length == 1 ? -0.5 : (o + 0.5) / a.scale - 0.5;
    case ResizeCoordinates::kHalfPixelSymmetric:  // from both centres: what is a tie is one, whatever the scale rounds
                                                  // to
      return (in - 1) / 2 + (o + 0.5 - static_cast<double>(a.out) / 2) / a.scale;
    default: return (o + 0.5) / a.scale - 0.5;
  }
}

int64_t NearestTo(const ResizeShape& s, double x) {
  switch (s.nearest) {
    case ResizeNearest::kFloor: return static_cast<int64_t>(std::floor(x));
    case ResizeNearest::kCeil: return static_cast<int64_t>(std::ceil(x));
    case ResizeNearest::kRoundPreferCeil: return static_cast<int64_t>(std::floor(x + 0.5));
    default: return static_cast<int64_t>(std::ceil(x - 0.5));
  }
}

double Weight(const ResizeShape& s, double distance) {
  const double d = std::fabs(distance), a = s.cubic_coeff_a;
  if (s.mode == ResizeMode::kLinear) return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

ResizeTaps TapsAt(const ResizeShape& s, const ResizeAxis& a, int64_t position) {
  ResizeTaps t;
  const double x = std::clamp(CoordinateResize(s, a, position), -0x1p40, 0x1p40);
  t.coordinate = x;
  t.outside = s.coordinates == ResizeCoordinates::kCropAndResize && (x < 0 || x > static_cast<double>(a.in - 1));
  if (t.outside) {
    t.index = {0};
    t.weight = {1};
    return t;
  }
  const auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, a.in - 1); };
  if (s.mode == ResizeMode::kNearest) {
    t.index = {inside(NearestTo(s, x))};
    t.weight = {1};
    const double slack = 0x1p-22 * (std::fabs(x) + 1);
    const int64_t below = inside(NearestTo(s, x - slack)), above = inside(NearestTo(s, x + slack));
    t.other = below != t.index[0] ? below : above;
    return t;
  }
  const double narrow = s.antialias ? std::min(a.scale, 1.0) : 1.0;
  const double reach = (s.mode == ResizeMode::kLinear ? 1 : 2) / narrow;
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::floor(x - reach)) + 1; static_cast<double>(i) < x + reach; ++i) {
    const bool counts = !s.exclude_outside || (i >= 0 && i < a.in);
    t.index.push_back(inside(i));
    t.weight.push_back(counts ? Weight(s, (static_cast<double>(i) - x) * narrow) : 0);
    sum += t.weight.back();
  }
  if (s.antialias || s.exclude_outside) {
    for (double& weight : t.weight) weight /= sum;
  }
  return t;
}

// How two numbers become one when an axis is walked.
enum class Walk { kSum, kSumOfSquares, kLow, kHigh };

// One axis of a dense block [outer][in][inner] -> [outer][out][inner].
std::vector<double> WalkAxis(const std::vector<double>& x, const std::vector<ResizeTaps>& taps, int64_t in,
                             int64_t inner, Walk walk, bool nearest) {
  const int64_t out = static_cast<int64_t>(taps.size());
  const int64_t outer = static_cast<int64_t>(x.size()) / std::max<int64_t>(1, in * inner);
  std::vector<double> y(static_cast<size_t>(outer * out * inner));
  ParallelFor(outer * out, std::max<int64_t>(1, kElementGrain / (inner + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const ResizeTaps& t = taps[static_cast<size_t>(r % out)];
      const double* from = x.data() + r / out * in * inner;
      double* to = y.data() + r * inner;
      for (int64_t k = 0; k < inner; ++k) {
        double value = walk == Walk::kLow ? INFINITY : walk == Walk::kHigh ? -INFINITY : 0;
        const auto take = [&](double v, double weight) {
          if (walk == Walk::kSum) value += weight * v;
          if (walk == Walk::kSumOfSquares) value += weight * weight * v;
          if (walk == Walk::kLow) value = std::min(value, v);
          if (walk == Walk::kHigh) value = std::max(value, v);
        };
        for (size_t i = 0; i < t.index.size(); ++i) take(from[t.index[i] * inner + k], t.weight[i]);
        if (nearest && (walk == Walk::kLow || walk == Walk::kHigh)) take(from[t.other * inner + k], 0);
        to[k] = value;
      }
    }
  });
  return y;
}

class Resizer {
 public:
  Resizer(const ResizeShape& s) : s_(s) {  // NOLINT(google-explicit-constructor)
    for (const ResizeAxis& axis : s.axes) {
      std::vector<ResizeTaps>& taps = taps_.emplace_back();
      for (int64_t o = 0; axis.resized && o < axis.out; ++o) taps.push_back(TapsAt(s, axis, o));
    }
  }

  std::vector<double> Apply(std::vector<double> x, Walk walk) const {
    const bool nearest = s_.mode == ResizeMode::kNearest;
    for (size_t d = s_.axes.size(); d-- > 0;) {
      if (!s_.axes[d].resized) continue;
      const int64_t inner = s_.out.CountFrom(static_cast<int>(d) + 1);
      x = WalkAxis(x, taps_[d], s_.axes[d].in, inner, walk, nearest);
    }
    return x;
  }

  // f(output element, largest |coordinate|, whether it lies outside)
  template <class F>
  void ForEach(F f) const {
    for (int64_t i = 0; i < s_.out.NumElements(); ++i) {
      double coordinate = 0;
      bool outside = false;
      for (size_t d = 0; d < s_.axes.size(); ++d) {
        if (!s_.axes[d].resized) continue;
        const int64_t at = i / s_.out.CountFrom(static_cast<int>(d) + 1) % s_.axes[d].out;
        const ResizeTaps& t = taps_[d][static_cast<size_t>(at)];
        coordinate = std::max(coordinate, std::fabs(t.coordinate));
        outside = outside || t.outside;
      }
      f(i, coordinate, outside);
    }
  }

  // The one input element that each output element is.
  std::vector<int64_t> Elements() const {
    std::vector<int64_t> from(static_cast<size_t>(s_.out.NumElements()), 0);
    for (size_t i = 0; i < from.size(); ++i) {
      for (size_t d = 0; d < s_.axes.size(); ++d) {
        const int axis = static_cast<int>(d);
        const int64_t at = static_cast<int64_t>(i) / s_.out.CountFrom(axis + 1) % s_.axes[d].out;
        from[i] += (s_.axes[d].resized ? taps_[d][static_cast<size_t>(at)].index[0] : at) * s_.in.CountFrom(axis + 1);
      }
    }
    return from;
  }

 private:
  const ResizeShape& s_;
  std::vector<std::vector<ResizeTaps>> taps_;
};

Result<std::vector<double>> Values(const Tensor& tensor) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, tensor.ConvertedTo(DType::kF64));
  return std::vector<double>(wide.data<double>(), wide.data<double>() + wide.NumElements());
}

Status PickResize(const ResizeShape& s, const ReferenceArgs& args) {
  const std::vector<int64_t> from = Resizer(s).Elements();
  return WithBits(args.inputs[0]->dtype(), [&](auto bits) {
    using T = decltype(bits);
    const T* x = static_cast<const T*>(args.inputs[0]->raw());
    T* y = static_cast<T*>(args.outputs[0]->raw());
    for (size_t i = 0; i < from.size(); ++i) y[i] = x[from[i]];
    return Status::Ok();
  });
}

Status RunResize(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const ResizeShape s, ResolveResize(args.layer, args.inputs[0]->shape()));
  const bool crops = s.coordinates == ResizeCoordinates::kCropAndResize;
  if (s.mode == ResizeMode::kNearest && !crops) return PickResize(s, args);
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    PLUMB_ASSIGN_OR_RETURN(std::vector<double> x, Values(*args.inputs[0]));
    const Resizer resizer(s);
    const std::vector<double> y = resizer.Apply(std::move(x), Walk::kSum);
    T* out = args.outputs[0]->data<T>();
    for (size_t i = 0; i < y.size(); ++i) out[i] = static_cast<T>(y[i]);
    if (!crops) return Status::Ok();
    resizer.ForEach([&](int64_t i, double, bool outside) {
      if (outside) out[i] = static_cast<T>(s.extrapolation_value);
    });
    return Status::Ok();
  });
}

// kBits: of linear weights; 0: exact ones.
template <int kBits>
Status BoundResize(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunResize(args));
  SetExact(bound);
  if (!IsFloat(args.inputs[0]->dtype())) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const ResizeShape s, ResolveResize(args.layer, args.inputs[0]->shape()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<double> x, Values(*args.inputs[0]));
  const Resizer resizer(s);
  const std::vector<double> low = resizer.Apply(x, Walk::kLow), high = resizer.Apply(x, Walk::kHigh);
  std::vector<double> inherited;
  if (const double* tau_x = InputTau(bound, 0)) {
    inherited.assign(tau_x, tau_x + x.size());
    for (double& tau : inherited) tau *= tau;
    inherited = resizer.Apply(std::move(inherited), Walk::kSumOfSquares);
  }
  const bool none = std::none_of(s.axes.begin(), s.axes.end(), [](const ResizeAxis& a) { return a.resized; });
  const double u = bound.arithmetic.u_out, own = s.mode == ResizeMode::kCubic || s.antialias ? 128 : 12;
  const double* y = args.outputs[0]->data<double>();
  double* tau = bound.tau[0]->data<double>();
  resizer.ForEach([&](int64_t i, double coordinate, bool outside) {
    const double l = low[static_cast<size_t>(i)], h = high[static_cast<size_t>(i)];
    if (outside) return;
    if (s.mode == ResizeMode::kNearest) {
      tau[i] = std::isfinite(h - l) ? std::max(h - y[i], y[i] - l) : 0;
    } else if (!none) {
      tau[i] = own * u * std::max(std::fabs(l), std::fabs(h)) + 12 * u * (h - l) * (1 + coordinate) + 4 * kEta;
      if (kBits > 0) tau[i] += std::ldexp(kRoundedWeight, -kBits) * (h - l);
    }
    if (!inherited.empty()) tau[i] = Quadrature(tau[i], std::sqrt(inherited[static_cast<size_t>(i)]));
  });
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferencePlumbResize() { return {RunResize, BoundResize<0>}; }
ReferenceOp SampledResize() { return {RunResize, BoundResize<8>}; }
ReferenceOp ElevenBitsResize() { return {RunResize, BoundResize<11>}; }

}  // namespace plumb
