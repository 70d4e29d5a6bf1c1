// SPDX-License-Identifier: Apache-2.0
// Integers of a * x + b: one scale and one whole zero point for all channels, whose interval follows from every value;
// or a line per channel (a mean and a std fused into the quantisation), found by least squares and then moved until
// rounding gives what was written.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "stage/lines.h"

namespace plumb {
namespace {

constexpr std::pair<Rounding, const char*> kRoundings[] = {{Rounding::kHalfEven, "rounded half to even"},
                                                           {Rounding::kHalfAway, "rounded half away from zero"},
                                                           {Rounding::kDown, "rounded down"},
                                                           {Rounding::kToZero, "cut off towards zero"}};

// How far the value before rounding may lie from what was written.
struct Margin {
  double below, above;
};
Margin MarginOf(Rounding rounding, double written) {
  switch (rounding) {
    case Rounding::kDown: return {0, 1};
    case Rounding::kToZero: return {written > 0 ? 0.0 : 1.0, written < 0 ? 0.0 : 1.0};
    default: return {0.5, 0.5};
  }
}

// The slopes s for which rounding s * x + zero gives every y that lies within the limits; empty: low > high.
struct Slopes {
  double low = -HUGE_VAL, high = HUGE_VAL;
  double middle() const { return low + (high - low) / 2; }
};
Slopes SlopesOf(const Picture& x, const Picture& y, double zero, Rounding rounding, const ValueLimits& limits) {
  Slopes slopes;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double from = static_cast<double>(x.values[i]), to = static_cast<double>(y.values[i]) - zero;
    const Margin margin = MarginOf(rounding, static_cast<double>(y.values[i]));
    if (from <= 0) continue;
    if (static_cast<double>(y.values[i]) > limits.low) slopes.low = std::max(slopes.low, (to - margin.below) / from);
    if (static_cast<double>(y.values[i]) < limits.high) slopes.high = std::min(slopes.high, (to + margin.above) / from);
  }
  return slopes;
}

std::string QuantisedName(const AffineLine& line, const char* words) {
  const double zero = std::nearbyint(line.offset);
  if (std::fabs(line.slope - 1) < 1e-6) return fmt::format("x {} {}", zero < 0 ? "-" : "+", Number(std::fabs(zero), 5));
  return fmt::format("x / {} {} {}, {}", Number(1 / line.slope, 5), zero < 0 ? "-" : "+", Number(std::fabs(zero), 5),
                     words);
}

// The offsets that give every value of a channel with this slope; empty: low > high.
struct Offsets {
  double low = -HUGE_VAL, high = HUGE_VAL;
};
Offsets OffsetsOf(const Picture& x, const Picture& y, size_t channel, double slope, Rounding rounding,
                  const ValueLimits& limits) {
  Offsets offsets;
  for (size_t i = channel; i < x.values.size(); i += static_cast<size_t>(x.channels)) {
    const double part = slope * static_cast<double>(x.values[i]), to = static_cast<double>(y.values[i]);
    const Margin margin = MarginOf(rounding, to);
    if (to > limits.low) offsets.low = std::max(offsets.low, to - margin.below - part);
    if (to < limits.high) offsets.high = std::min(offsets.high, to + margin.above - part);
  }
  return offsets;
}

// The line in the middle of those that give every value of a channel. The width of the offsets is concave in the slope:
// thirds of an interval find its top.
AffineLine MiddleLine(const Picture& x, const Picture& y, size_t channel, double slope, Rounding rounding,
                      const ValueLimits& limits) {
  const auto width = [&](double at) {
    const Offsets offsets = OffsetsOf(x, y, channel, at, rounding, limits);
    return offsets.high - offsets.low;
  };
  double low = slope - 0.02 * std::fabs(slope), high = slope + 0.02 * std::fabs(slope);
  constexpr int kThirds = 40;  // 0.04 * (2 / 3)^40 = 4e-9 of the slope
  for (int i = 0; i < kThirds; ++i) {
    const double third = (high - low) / 3;
    if (width(low + third) < width(high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  const Offsets offsets = OffsetsOf(x, y, channel, (low + high) / 2, rounding, limits);
  return {(low + high) / 2, (offsets.low + offsets.high) / 2};
}

std::string ListedLines(const std::vector<AffineLine>& lines) {
  std::string slopes, offsets;
  for (const AffineLine& line : lines) {
    slopes += (slopes.empty() ? "" : ", ") + Number(line.slope, 4);
    offsets += (offsets.empty() ? "" : ", ") + Number(line.offset, 4);
  }
  return lines.size() == 1 ? fmt::format("x * {} + {}", slopes, offsets)
                           : fmt::format("x * [{}] + [{}]", slopes, offsets);
}

void AddPerChannel(const Picture& x, const Picture& y, const std::vector<AffineLine>& fitted, const Convention& first,
                   const StageInfo& info, DType dtype, std::vector<Convention>* found) {
  const StageValue* said = info.Find("zero_point");
  std::vector<double> zeros = {0, -128, 128};
  if (said != nullptr && !said->numbers.empty()) zeros.insert(zeros.begin(), said->numbers[0]);
  const double unit = x.bytes ? 255 : 1;
  std::vector<Convention> nameless;
  for (const auto& [rounding, words] : kRoundings) {
    std::vector<AffineLine> lines;
    for (size_t c = 0; c < fitted.size(); ++c)
      lines.push_back(MiddleLine(x, y, c, fitted[c].slope, rounding, LimitsOf(dtype)));
    const auto finite = [](const AffineLine& line) { return std::isfinite(line.offset); };
    if (!std::all_of(lines.begin(), lines.end(), finite)) continue;
    std::string name;
    for (const double zero : zeros) {
      const std::string known = QuantisedKnownName(lines, zero, unit);
      if (name.empty() && !known.empty())
        name = zero == 0 ? known : fmt::format("{} {} {}", known, zero < 0 ? "-" : "+", Number(std::fabs(zero), 5));
    }
    const bool known = !name.empty();  // rounding down is half to even of another offset: the known one goes first
    if (!known) name = ListedLines(lines);
    name += std::string(", ") + words;
    if (first.name != "the values as they are") name += ", " + first.name;
    (known ? found : &nameless)->push_back(AffineRow(name, "", lines, first, rounding, dtype));
  }
  found->insert(found->end(), nameless.begin(), nameless.end());
}

}  // namespace

void AddQuantised(const Picture& before, const Picture& after, const std::vector<AffineLine>& fitted,
                  const Convention& first, const StageInfo& info, DType dtype, std::vector<Convention>* found) {
  const PictureTarget target = {after.height, after.width, after.channels, after.bytes, &info};
  const std::optional<Picture> moved = first.run(before, target);
  if (!moved.has_value()) return;
  const size_t known_before = found->size();
  double offset = 0;
  for (const AffineLine& line : fitted) offset += line.offset / static_cast<double>(fitted.size());
  const StageValue* said = info.Find("zero_point");
  std::vector<double> zeros;
  if (said != nullptr && !said->numbers.empty()) zeros.push_back(said->numbers[0]);
  for (const double step : {0, 1, -1}) zeros.push_back(std::nearbyint(offset) + step);
  const ValueLimits limits = LimitsOf(dtype);
  for (const auto& [rounding, words] : kRoundings) {
    for (const double zero : zeros) {
      const Slopes slopes = SlopesOf(*moved, after, zero, rounding, limits);
      if (slopes.low > slopes.high || !std::isfinite(slopes.low) || !std::isfinite(slopes.high)) continue;
      AffineLine line = {slopes.low <= 1 && slopes.high >= 1 ? 1 : slopes.middle(), zero};
      std::string name = QuantisedName(line, words);
      if (first.name != "the values as they are") name += ", " + first.name;
      found->push_back(AffineRow(name, "", std::vector<AffineLine>(fitted.size(), line), first, rounding, dtype));
      break;
    }
  }
  if (found->size() == known_before) AddPerChannel(*moved, after, fitted, first, info, dtype, found);
}

}  // namespace plumb
