// SPDX-License-Identifier: Apache-2.0
#include "plumb/observer.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>

namespace plumb {
namespace {

constexpr double kLeastGap = 0.125, kLargest = 8;

}  // namespace

std::string Numerics::Name() const {
  std::string name;
  const auto add = [&name](const std::string& words) { name += (name.empty() ? "" : ", ") + words; };
  if (algorithm == kWinograd) {
    const char* form = dimensions == 1 ? "winograd F({0},{1}) points"
                       : stride == 1   ? "winograd F({0}x{0},{1}x{1}) points"
                                       : "winograd of stride {2} F({0}x{0},{1}x{1}) points";
    add(fmt::format(fmt::runtime(form), tile, taps(), stride));
    for (const double point : points) {
      char text[32];
      std::snprintf(text, sizeof(text), " %.4g", point);
      name += text;
    }
  }
  if (accumulator != DType::kF32) add(std::string("sums in ") + DTypeName(accumulator));
  if (storage != DType::kF32) add(std::string("operands in ") + DTypeName(storage));
  return name;
}

Status Numerics::Validate() const {
  if (algorithm != kWinograd || tile == 0) return Status::Ok();
  bool usable = tile >= 1 && points.size() < kMaxPositions && taps() >= 2 && taps() <= kMaxTaps &&
                (dimensions == 1 || dimensions == 2) && (stride == 1 || (stride == 2 && dimensions == 2));
  for (size_t i = 0; usable && i < points.size(); ++i) {
    usable = std::abs(points[i]) <= kLargest;  // no NaN
    for (size_t j = 0; usable && j < i; ++j) usable = std::abs(points[i] - points[j]) >= kLeastGap;
  }
  if (usable) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "Winograd's algorithm with tiles of {} and {} points, stride {}, is for kernels of {} taps along {} axes; "
      "expected "
      "{}",
      tile, points.size(), stride, static_cast<int64_t>(points.size()) + 2 - tile, dimensions, ValidForms()));
}

std::string Numerics::ValidForms() {
  return fmt::format(
      "2 to {} taps along 1 or 2 axes, stride 1 (2 along 2 axes) and at most {} points from -{} to {}, at least {} "
      "apart",
      kMaxTaps, kMaxPositions - 1, kLargest, kLargest, kLeastGap);
}

}  // namespace plumb
