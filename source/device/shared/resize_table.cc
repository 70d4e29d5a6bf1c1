// SPDX-License-Identifier: Apache-2.0
#include "device/shared/resize_table.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

double PositionOf(const ResizeShape& s, const ResizeAxis& a, int64_t o) {
  const double last = static_cast<double>(a.in - 1), wanted = a.scale * static_cast<double>(a.in);
  const double at = static_cast<double>(o), half = (at + 0.5) / a.scale - 0.5;
  switch (s.coordinates) {
    case ResizeCoordinates::kHalfPixel: return half;
    case ResizeCoordinates::kHalfPixelSymmetric:
      return last * 0.5 + (at + 0.5 - static_cast<double>(a.out) * 0.5) / a.scale;
    case ResizeCoordinates::kPytorchHalfPixel: return wanted == 1 ? -0.5 : half;
    case ResizeCoordinates::kAsymmetric: return at / a.scale;
    case ResizeCoordinates::kAlignCorners: return wanted == 1 ? 0 : at * last / (wanted - 1);
    case ResizeCoordinates::kCropAndResize: break;
  }
  const double span = (a.roi_end - a.roi_begin) * last;
  return a.roi_begin * last + (wanted == 1 ? span / 2 : at * span / (wanted - 1));
}

double Round(ResizeNearest rounding, double x) {
  if (rounding == ResizeNearest::kFloor) return std::floor(x);
  if (rounding == ResizeNearest::kCeil) return std::ceil(x);
  return rounding == ResizeNearest::kRoundPreferCeil ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

double Hat(const ResizeShape& s, double d) {
  d = std::fabs(d);
  const double a = s.cubic_coeff_a;
  if (s.mode == ResizeMode::kLinear) return d < 1 ? 1 - d : 0;
  if (d >= 2) return 0;
  return d <= 1 ? 1 + d * d * ((a + 2) * d - a - 3) : a * (d - 2) * (d - 2) * (d - 1);
}

void AddTaps(const ResizeShape& s, const ResizeAxis& a, double x, ResizeTable* table) {
  const auto add = [&](double i, double weight) {
    table->index.push_back(static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(a.in - 1))));
    table->weight.push_back(static_cast<float>(weight));
  };
  if (s.mode == ResizeMode::kNearest) return add(Round(s.nearest, x), 1);
  const double shrink = s.antialias ? std::min(1.0, a.scale) : 1;
  const double radius = (s.mode == ResizeMode::kLinear ? 1 : 2) / shrink;
  const auto weight = [&](double i) {
    const bool hidden = s.exclude_outside && (i < 0 || i >= static_cast<double>(a.in));
    return hidden ? 0 : Hat(s, (i - x) * shrink);
  };
  const double begin = std::floor(x - radius) + 1;
  double sum = 0;
  for (double i = begin; i < x + radius; ++i) sum += weight(i);
  if (!s.antialias && !s.exclude_outside) sum = 1;
  for (double i = begin; i < x + radius; ++i) add(i, weight(i) / sum);
}

}  // namespace

ResizeTable MakeResizeTable(const ResizeShape& s, const ResizeAxis& a) {
  ResizeTable table;
  for (int64_t o = 0; o < a.out; ++o) {
    const double x = PositionOf(s, a, o), limit = 2 * static_cast<double>(a.in) + 8;
    const bool crops = s.coordinates == ResizeCoordinates::kCropAndResize;
    table.outside.push_back(crops && !(x >= 0 && x <= static_cast<double>(a.in - 1)));
    AddTaps(s, a, table.outside.back() ? 0 : std::clamp(x, -limit, limit), &table);
    table.first.push_back(static_cast<int64_t>(table.index.size()));
  }
  return table;
}

}  // namespace plumb
