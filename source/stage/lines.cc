// SPDX-License-Identifier: Apache-2.0
#include "stage/lines.h"

#include <algorithm>
#include <cmath>

namespace plumb {

// Least squares per channel; a channel of one value takes the others' slope. Nothing: no channel varies.
std::optional<std::vector<AffineLine>> FitLines(const Picture& x, const Picture& y) {
  const auto channels = static_cast<size_t>(x.channels);
  std::vector<AffineLine> lines(channels);
  std::vector<bool> varies(channels, false);
  double slopes = 0, count = 0;
  std::vector<double> mean_x(channels, 0), mean_y(channels, 0);
  const double pixels = static_cast<double>(x.height * x.width);
  for (size_t i = 0; i < x.values.size(); ++i) {
    mean_x[i % channels] += static_cast<double>(x.values[i]) / pixels;
    mean_y[i % channels] += static_cast<double>(y.values[i]) / pixels;
  }
  for (size_t c = 0; c < channels; ++c) {
    double xx = 0, xy = 0;
    for (size_t i = c; i < x.values.size(); i += channels) {
      const double from = static_cast<double>(x.values[i]) - mean_x[c];
      xx += from * from;
      xy += from * (static_cast<double>(y.values[i]) - mean_y[c]);
    }
    varies[c] = xx > 0 && xy != 0;
    if (varies[c]) lines[c].slope = xy / xx, slopes += lines[c].slope, ++count;
  }
  if (count == 0) return std::nullopt;
  for (size_t c = 0; c < channels; ++c) {
    if (!varies[c]) lines[c].slope = slopes / count;
    lines[c].offset = mean_y[c] - lines[c].slope * mean_x[c];
    if (!std::isfinite(lines[c].slope) || !std::isfinite(lines[c].offset)) return std::nullopt;
  }
  return lines;
}

double RoundedBy(Rounding rounding, double value) {
  switch (rounding) {
    case Rounding::kNone: return value;
    case Rounding::kHalfEven: return std::nearbyint(value);
    case Rounding::kHalfAway: return std::round(value);
    case Rounding::kDown: return std::floor(value);
    case Rounding::kToZero: return std::trunc(value);
  }
  return value;
}

ValueLimits LimitsOf(DType dtype) {
  if (dtype == DType::kU8) return {0, 255};
  if (dtype == DType::kI8) return {-128, 127};
  if (dtype == DType::kI16) return {-32768, 32767};
  if (dtype == DType::kU16) return {0, 65535};
  return {};
}

Picture AlongLines(const Picture& x, const std::vector<AffineLine>& lines, Rounding rounding,
                   const ValueLimits& limits) {
  Picture y = x;
  y.bytes = limits.low == 0 && limits.high == 255;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const AffineLine& line = lines[i % lines.size()];
    const double value = RoundedBy(rounding, line.slope * static_cast<double>(x.values[i]) + line.offset);
    y.values[i] = static_cast<float>(std::min(limits.high, std::max(limits.low, value)));
  }
  return y;
}

Convention AffineRow(const std::string& name, const std::string& code, const std::vector<AffineLine>& lines,
                     const Convention& first, Rounding rounding, DType dtype) {
  const ValueLimits limits = LimitsOf(dtype);
  return {name, name, code,
          [lines, run = first.of_one, rounding, limits](const Picture& before,
                                                        const PictureTarget& target) -> std::optional<Picture> {
            const std::optional<Picture> moved = run(before, target);
            if (!moved.has_value() || moved->channels != static_cast<int64_t>(lines.size())) return std::nullopt;
            return AlongLines(*moved, lines, rounding, limits);
          },
          rounding == Rounding::kNone ? 0.0 : 0.01};
}

}  // namespace plumb
