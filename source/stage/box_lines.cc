// SPDX-License-Identifier: Apache-2.0
// Boxes brought back to the photo: (x - pad) / gain along either axis, of a letterbox or a resize, and cut off at the
// photo's edges or not. The numbers are found by least squares.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stage/boxes.h"

namespace plumb {
namespace {

struct AxisLine {
  double slope = 1, offset = 0;
  double low = -HUGE_VAL, high = HUGE_VAL;  // where it is cut off

  double at(float value) const { return std::min(high, std::max(low, slope * static_cast<double>(value) + offset)); }
  std::string words(const char* name) const {
    const double pad = -offset / slope;
    std::string text = name;
    if (std::fabs(pad) > 1e-3) text = fmt::format("({} {} {})", name, pad < 0 ? "+" : "-", Number(std::fabs(pad), 5));
    if (std::fabs(slope - 1) > 1e-6) text += fmt::format(" / {}", Number(1 / slope, 5));
    if (std::isfinite(high)) text += fmt::format(" cut off at 0 and {}", Number(high, 5));
    return text;
  }
};

struct AxisPoints {
  std::vector<double> from, to;
};
AxisPoints PointsOf(const Picture& before, const Picture& after, int64_t axis) {
  AxisPoints points;
  for (int64_t h = 0; h < before.height; ++h) {
    for (const int64_t column : {axis, axis + 2}) {
      points.from.push_back(static_cast<double>(before.Row(h)[column]));
      points.to.push_back(static_cast<double>(after.Row(h)[column]));
    }
  }
  return points;
}

// The line through the points that are within the limits.
std::optional<AxisLine> LineThrough(const AxisPoints& points, double low, double high) {
  double count = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  const auto inside = [&](size_t i) { return points.to[i] > low && points.to[i] < high; };
  for (size_t i = 0; i < points.to.size(); ++i) {
    if (inside(i)) ++count, mean_x += points.from[i], mean_y += points.to[i];
  }
  if (count < 3) return std::nullopt;
  mean_x /= count, mean_y /= count;
  for (size_t i = 0; i < points.to.size(); ++i) {
    if (!inside(i)) continue;
    xx += (points.from[i] - mean_x) * (points.from[i] - mean_x);
    xy += (points.from[i] - mean_x) * (points.to[i] - mean_y);
  }
  if (!(xx > 0) || !(std::fabs(xy) > 0) || !std::isfinite(xx) || !std::isfinite(xy)) return std::nullopt;
  AxisLine line{xy / xx, 0, low, high};
  line.offset = mean_y - line.slope * mean_x;
  return line;
}

bool Fits(const AxisLine& line, const AxisPoints& points) {
  double largest = 1;
  for (const double value : points.to) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < points.to.size(); ++i) {
    if (!(std::fabs(line.at(static_cast<float>(points.from[i])) - points.to[i]) <= 1e-5 * largest)) return false;
  }
  return true;
}

std::optional<AxisLine> LineOf(const AxisPoints& points) {
  const auto whole = LineThrough(points, -HUGE_VAL, HUGE_VAL);
  if (whole.has_value() && Fits(*whole, points)) return whole;
  const double high = *std::max_element(points.to.begin(), points.to.end());
  for (const double top : {high, HUGE_VAL}) {
    const auto cut = LineThrough(points, 0, top);
    if (cut.has_value() && Fits(*cut, points)) return cut;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Convention> FindBoxLines(const Picture& before, const Picture& after) {
  const bool rows = before.channels == 1 && after.channels == 1 && before.width == after.width &&
                    before.height == after.height && before.width >= 4 && before.width <= 8 && !after.bytes;
  if (!rows) return {};
  const auto x = LineOf(PointsOf(before, after, 0)), y = LineOf(PointsOf(before, after, 1));
  if (!x.has_value() || !y.has_value()) return {};
  const std::string words = fmt::format("boxes at {}, {}", x->words("x"), y->words("y"));
  return {
      {words, words, "", [x = *x, y = *y](const Picture& from, const PictureTarget& target) -> std::optional<Picture> {
         if (from.channels != 1 || from.width != target.width || from.height != target.height || from.width < 4)
           return std::nullopt;
         Picture to = from;
         for (int64_t h = 0; h < from.height; ++h) {
           for (int64_t column = 0; column < 4; ++column)
             to.Row(h)[column] = static_cast<float>((column % 2 == 0 ? x : y).at(from.Row(h)[column]));
         }
         return to;
       }}};
}

}  // namespace plumb
