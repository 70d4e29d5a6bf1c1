// SPDX-License-Identifier: Apache-2.0
#include "check/cause/signature_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "check/core/axis_order.h"

namespace plumb {
namespace {

// Whether x[i] is y[from(i)] for all i; stops at the first that is not.
template <class F>
bool Holds(const WrongOutput& p, F from) {
  const double slack = kSameValue * p.largest;
  for (size_t i = 0; i < p.x.size(); ++i) {
    if (!(std::fabs(p.x[i] - p.y[static_cast<size_t>(from(static_cast<int64_t>(i)))]) <= slack)) return false;
  }
  return true;
}

// Whether the order only moves axes of size 1, which moves nothing.
bool MovesNothing(const Shape& shape, const std::vector<int>& order) {
  std::vector<int> large;
  for (int axis : order) {
    if (shape[axis] != 1) large.push_back(axis);
  }
  return std::is_sorted(large.begin(), large.end());
}

std::string NameOrder(const Shape& shape, const std::vector<int>& order) {
  std::vector<int> moved, text;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int>(i)) moved.push_back(static_cast<int>(i));
  }
  const int rank = shape.rank();
  if (moved.size() == 2 && shape[moved[0]] == shape[moved[1]]) {
    return fmt::format("the values are right with the axes {} and {} swapped", moved[0], moved[1]);
  }
  bool last = rank >= 3 && order[0] == 0 && order.back() == 1;
  for (int i = 1; last && i + 1 < rank; ++i) last = order[static_cast<size_t>(i)] == i + 1;
  if (last) return "the values are right in NHWC order";
  std::string words = "the values are right with the axes in the order";
  for (int axis : order) words += " " + std::to_string(axis);
  return words;
}

bool IsReversed(const WrongOutput& p) {
  const int64_t channels = p.shape[1], pixels = p.shape.CountFrom(2);
  return Holds(p, [=](int64_t i) {
    const int64_t n = i / (channels * pixels), c = i / pixels % channels;
    return (n * channels + channels - 1 - c) * pixels + i % pixels;
  });
}

}  // namespace

// Every order of the axes, the memory read as if it had the right one; NHWC is one of them.
std::string DescribeAxes(const WrongOutput& p) {
  const int rank = p.shape.rank();
  if (rank < 2 || rank > 5) return "";
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  while (std::next_permutation(order.begin(), order.end())) {
    if (MovesNothing(p.shape, order)) continue;
    const AxisOrder memory = AxisOrder::MemoryOf(p.shape, order);
    if (Holds(p, [&](int64_t i) { return memory.At(i); })) return NameOrder(p.shape, order);
  }
  return "";
}

// Channels in reverse, or in packs of 4, 8 or 16 whose members lie together (NC4HW4).
std::string DescribeChannels(const WrongOutput& p) {
  if (p.shape.rank() < 3 || p.shape[1] < 2) return "";
  if (IsReversed(p)) return "the values are right with the channels in reverse";
  const int64_t channels = p.shape[1], pixels = p.shape.CountFrom(2);
  for (const int64_t pack : {4, 8, 16}) {
    if (channels % pack != 0) continue;
    const bool packed = Holds(p, [=](int64_t i) {
      const int64_t block = i / (pack * pixels), pixel = i / pack % pixels;
      return (block * pack + i % pack) * pixels + pixel;
    });
    if (packed) return fmt::format("the values are right in packs of {} channels (NC{}HW{})", pack, pack, pack);
  }
  return "";
}

namespace {

// Every value is its neighbour's along one axis of six or more, and some are not what they should be; the first and
// last two do not count.
std::string DescribeStep(const WrongOutput& p) {
  const double slack = kSameValue * p.largest;
  if (p.error < 5 * slack) return "";
  for (int axis = 0; axis < p.shape.rank(); ++axis) {
    const int64_t size = p.shape[axis], inner = p.shape.CountFrom(axis + 1);
    if (size < 6) continue;
    for (const int64_t by : {-1, 1}) {
      bool holds = true, differs = false;
      for (int64_t i = 0; holds && i < static_cast<int64_t>(p.x.size()); ++i) {
        const int64_t at = i / inner % size;
        if (at < 2 || at >= size - 2) continue;
        const double x = p.x[static_cast<size_t>(i)];
        holds = std::fabs(x - p.y[static_cast<size_t>(i + by * inner)]) <= slack;
        differs = differs || std::fabs(x - p.y[static_cast<size_t>(i)]) > slack;
      }
      if (holds && differs) return fmt::format("the values are those of {} further along axis {}", by, axis);
    }
  }
  return "";
}

}  // namespace

// The map moved by a pixel or half of one, and some pixels are not what they should be; two at the border do not count.
std::string DescribeShift(const WrongOutput& p) {
  const std::string step = p.shape.rank() == 4 ? "" : DescribeStep(p);
  if (!step.empty()) return step;
  if (p.shape.rank() != 4 || p.shape[2] < 6 || p.shape[3] < 6) return "";
  const int64_t height = p.shape[2], width = p.shape[3];
  const auto holds = [&](int64_t dy, int64_t dx, bool half) {
    const double slack = (half ? 100 : 1) * kSameValue * p.largest;
    if (p.error < 5 * slack) return false;
    bool differs = false;
    for (int64_t i = 0; i < static_cast<int64_t>(p.x.size()); ++i) {
      const int64_t w = i % width, h = i / width % height;
      if (std::min({w, h, width - 1 - w, height - 1 - h}) < 2) continue;
      const double there = p.y[static_cast<size_t>(i + dy * width + dx)], here = p.y[static_cast<size_t>(i)];
      const double x = p.x[static_cast<size_t>(i)];
      if (!(std::fabs(x - (half ? (here + there) / 2 : there)) <= slack)) return false;
      differs = differs || std::fabs(x - here) > slack;
    }
    return differs;
  };
  for (const bool half : {false, true}) {
    for (int64_t dy = -1; dy <= 1; ++dy) {
      for (int64_t dx = -1; dx <= 1; ++dx) {
        if ((dy == 0 && dx == 0) || !holds(dy, dx, half)) continue;
        const auto pixels = [&](int64_t by) { return std::to_string(by) + (half && by != 0 ? "/2" : ""); };
        return fmt::format("the values are those of the pixel ({}, {}) further (height, width)", pixels(dy),
                           pixels(dx));
      }
    }
  }
  return "";
}

std::string DescribeReordered(const WrongOutput& p) {
  // Of what differs alone: among many values a few others have their like, too.
  const double slack = kSameValue * p.largest;
  std::vector<double> x, y;
  for (size_t i = 0; i < p.x.size(); ++i) {
    if (std::fabs(p.x[i] - p.y[i]) > slack) x.push_back(p.x[i]), y.push_back(p.y[i]);
  }
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(std::fabs(x[i] - y[i]) <= slack)) return "";
  }
  return p.error > 10 * slack ? "the values are right in another order" : "";
}

}  // namespace plumb
