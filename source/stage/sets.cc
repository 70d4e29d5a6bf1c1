// SPDX-License-Identifier: Apache-2.0
// Sets of detections: which of one has a partner in the other.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stage/boxes.h"

namespace plumb {

std::optional<SetDifference> CompareDetections(const Picture& a, const Picture& b) {
  if (a.channels != 1 || b.channels != 1 || a.width != b.width || a.width < 5 || a.width > 6) return std::nullopt;
  if (a.height * b.height > int64_t{100000000}) return std::nullopt;
  SetDifference difference;
  std::vector<int64_t> partner(static_cast<size_t>(a.height), -1);
  std::vector<bool> taken(static_cast<size_t>(b.height), false);
  for (int64_t i = 0; i < a.height; ++i) {
    double best = 0.5;
    int64_t found = -1;
    for (int64_t j = 0; j < b.height; ++j) {
      const bool apart = a.width > 5 && a.Row(i)[5] != b.Row(j)[5];
      if (taken[static_cast<size_t>(j)] || apart) continue;
      const bool equal = std::equal(a.Row(i), a.Row(i) + 4, b.Row(j));  // an empty box, too
      const double overlap = equal ? 1 : BoxOverlap(a.Row(i), b.Row(j), 0);
      if (overlap > best || (overlap == best && found < 0)) best = overlap, found = j;
    }
    const auto ties = [&a](int64_t row) {
      for (int64_t other = 0; other < a.height; ++other) {
        if (other != row && std::fabs(a.Row(other)[4] - a.Row(row)[4]) <= 1e-4f) return true;
      }
      return false;
    };
    if (found < 0) {
      ++difference.only_a;
      difference.near_ties += ties(i) ? 1 : 0;
      continue;
    }
    taken[static_cast<size_t>(found)] = true;
    difference.same_order = difference.same_order && found == i;
    ++difference.pairs;
    difference.smallest_overlap = std::min(difference.smallest_overlap, best);
    const double scores = static_cast<double>(std::fabs(a.Row(i)[4] - b.Row(found)[4]));
    difference.largest_score = std::isnan(scores) ? HUGE_VAL : std::max(difference.largest_score, scores);
  }
  difference.only_b = std::count(taken.begin(), taken.end(), false);
  return difference;
}

std::string SetDifference::text() const {
  std::string words = fmt::format("{} boxes of both", pairs);
  if (pairs > 0)
    words +=
        fmt::format(" (IoU {} or more, scores by up to {})", Number(smallest_overlap, 4), Number(largest_score, 3));
  words += fmt::format(", {} only in the original, {} only in the port", only_a, only_b);
  if (near_ties > 0) words += fmt::format("; {} of them near ties", near_ties);
  if (pairs > 0 && !same_order) words += "; in another order";
  return words;
}

}  // namespace plumb
