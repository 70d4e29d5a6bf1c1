// SPDX-License-Identifier: Apache-2.0
#include "stage/classes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/core/metrics.h"

namespace plumb {
namespace {

constexpr double kClassTie = 1e-4;  // of the largest score
constexpr int64_t kMostRanks = 100000;

// The margin between the scores of two classes; infinite where one has none.
double MarginBetween(const Tensor& scores, int64_t a, int64_t b) {
  const int64_t count = scores.empty() ? 0 : scores.NumElements();
  if (a < 0 || b < 0 || a >= count || b >= count) return HUGE_VAL;
  return std::fabs(scores.ValueAt(a) - scores.ValueAt(b));
}

// Whether every number of the port is the original's and as much.
bool IsShifted(const Tensor& original, const Tensor& port, int64_t by) {
  for (int64_t n = 0; n < original.NumElements(); ++n) {
    if (static_cast<int64_t>(port.ValueAt(n)) != static_cast<int64_t>(original.ValueAt(n)) + by) return false;
  }
  return true;
}

}  // namespace

std::optional<ClassDifference> CompareClasses(const Tensor& original, const Tensor& port, const Tensor& scores) {
  const int64_t count = original.NumElements();
  if (IsFloat(original.dtype()) || IsFloat(port.dtype()) || count == 0 || count != port.NumElements() ||
      count > kMostRanks)
    return std::nullopt;
  ClassDifference difference;
  double largest_margin = 0;
  int64_t differing = 0;
  for (int64_t rank = 0; rank < count; ++rank) {
    const auto a = static_cast<int64_t>(original.ValueAt(rank)), b = static_cast<int64_t>(port.ValueAt(rank));
    if (a == b) continue;
    const double margin = MarginBetween(scores, a, b);
    largest_margin = std::max(largest_margin, margin);
    if (++differing > 1) continue;
    difference.text = fmt::format("rank {}: class {} and {}", rank + 1, a, b);
    if (std::isfinite(margin))
      difference.text += fmt::format(", whose scores differ by {} in the original", Number(margin, 3));
  }
  if (differing == 0) return std::nullopt;
  if (differing > 1) difference.text += fmt::format("; {} of {} ranks differ", differing, count);
  difference.near_ties = std::isfinite(largest_margin) && largest_margin <= kClassTie * LargestMagnitude(scores);
  if (difference.near_ties) difference.text += " (near ties)";
  for (const int64_t by : {1, -1}) {
    if (IsShifted(original, port, by))
      difference.cause =
          fmt::format("each class number is one {}: one side counts a background class", by > 0 ? "more" : "less");
  }
  return difference;
}

}  // namespace plumb
