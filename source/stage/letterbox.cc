// SPDX-License-Identifier: Apache-2.0
// Letterbox: the picture keeps its ratio inside a frame of one colour. What differs between programs: how the size is
// rounded, where it lies, the frame's value, and the resize itself (all conventions of resizing are tried inside).
// Ultralytics' offsets are round(d / 2 - 0.1) at the top and left (ultralytics/data/augment.py).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "stage/explain.h"

namespace plumb {
namespace {

struct SizeRule {
  const char* words;
  int64_t (*size)(double exact);
};
constexpr SizeRule kSizeRules[] = {
    {"rounded", [](double exact) { return static_cast<int64_t>(std::nearbyint(exact)); }},
    {"cut off", [](double exact) { return static_cast<int64_t>(exact); }},
    {"rounded up", [](double exact) { return static_cast<int64_t>(std::ceil(exact)); }},
};
struct PlaceRule {
  const char* words;
  int64_t (*offset)(int64_t rest);
};
constexpr PlaceRule kPlaceRules[] = {
    {"in the centre (round(d / 2 - 0.1))",
     [](int64_t rest) { return static_cast<int64_t>(std::nearbyint(static_cast<double>(rest) / 2 - 0.1)); }},
    {"in the centre, rounded up", [](int64_t rest) { return (rest + 1) / 2; }},
    {"at the top left", [](int64_t) { return int64_t{0}; }},
    {"at the bottom right", [](int64_t rest) { return rest; }},
};

struct Box {
  int64_t top, left, height, width;
};

bool IsFrame(const Picture& picture, const Box& box, const std::vector<float>& value) {
  for (int64_t h = 0; h < picture.height; ++h) {
    const float* row = picture.Row(h);
    const bool inside = h >= box.top && h < box.top + box.height;
    for (int64_t w = 0; w < picture.width; ++w) {
      if (inside && w == box.left) w += box.width;
      if (w >= picture.width) break;
      for (int64_t c = 0; c < picture.channels; ++c) {
        if (row[w * picture.channels + c] != value[static_cast<size_t>(c)]) return false;
      }
    }
  }
  return true;
}

Picture InFrame(const Picture& inside, const Box& box, const PictureTarget& target, const std::vector<float>& value) {
  Picture after = MakePicture(target.height, target.width, inside.channels, inside.bytes);
  for (size_t i = 0; i < after.values.size(); ++i) after.values[i] = value[i % value.size()];
  for (int64_t h = 0; h < box.height; ++h)
    std::copy_n(inside.Row(h), box.width * inside.channels, after.Row(box.top + h) + box.left * inside.channels);
  return after;
}

std::string FrameValue(const std::vector<float>& value) {
  const bool same = std::all_of(value.begin(), value.end(), [&](float one) { return one == value[0]; });
  if (same) return Number(static_cast<double>(value[0]), 5);
  std::string text = "(";
  for (size_t c = 0; c < value.size(); ++c) text += (c > 0 ? ", " : "") + Number(static_cast<double>(value[c]), 5);
  return text + ")";
}

// The value of the frame, at the corner that no box of these rules covers all of.
std::vector<float> CornerValue(const Picture& after, const Box& box) {
  const int64_t row = box.top > 0 ? 0 : box.top + box.height < after.height ? after.height - 1 : 0;
  const int64_t column = box.left > 0 ? 0 : box.left + box.width < after.width ? after.width - 1 : 0;
  const float* pixel = after.Row(row) + column * after.channels;
  return std::vector<float>(pixel, pixel + after.channels);
}

Convention Boxed(const Convention& inner, const Box& box, const std::vector<float>& value, const std::string& words) {
  return {fmt::format("letterbox: {}, frame {}, {}", words, FrameValue(value), inner.name),
          fmt::format("letterbox: {}, frame {}, {}", words, FrameValue(value), inner.group),
          fmt::format("{}; pad top {}, left {} to (h, w) with {}", inner.code.empty() ? "x" : inner.code, box.top,
                      box.left, FrameValue(value)),
          [inner, box, value](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            if (before.channels != static_cast<int64_t>(value.size()) || target.height < box.top + box.height ||
                target.width < box.left + box.width)
              return std::nullopt;
            const PictureTarget part = {box.height, box.width, target.channels, target.bytes, target.info};
            const std::optional<Picture> inside = inner.of_one(before, part);
            if (!inside.has_value()) return std::nullopt;
            return InFrame(*inside, box, target, value);
          },
          inner.off_by_one,
          inner.in_float32,
          true};
}

}  // namespace

std::vector<Convention> FindLetterbox(const Picture& before, const Picture& after, DType dtype) {
  std::vector<Convention> found;
  if (before.channels != after.channels || before.count() == 0) return found;
  const double ratio = std::min(static_cast<double>(after.height) / static_cast<double>(before.height),
                                static_cast<double>(after.width) / static_cast<double>(before.width));
  std::set<std::vector<int64_t>> tried;
  struct Candidate {
    Box box;
    std::string words;
  };
  std::vector<Candidate> candidates;
  const auto add = [&](int64_t height, int64_t width, const std::string& size) {
    if (height <= 0 || width <= 0 || height > after.height || width > after.width) return;
    if (height == after.height && width == after.width) return;
    for (const PlaceRule& place : kPlaceRules) {
      const Box box = {place.offset(after.height - height), place.offset(after.width - width), height, width};
      if (!tried.insert({box.top, box.left, box.height, box.width}).second) continue;
      candidates.push_back({box, size + place.words});
    }
  };
  for (const SizeRule& size : kSizeRules) {
    add(size.size(static_cast<double>(before.height) * ratio), size.size(static_cast<double>(before.width) * ratio),
        std::string("size ") + size.words + ", ");
  }
  add(before.height, before.width, "size kept, ");
  for (const Candidate& candidate : candidates) {
    const Box& box = candidate.box;
    const std::vector<float> value = CornerValue(after, box);
    if (!IsFrame(after, box, value)) continue;
    const Picture inside = PartOf(after, box.top, box.left, box.height, box.width);
    for (const Explained& inner : ExplainPicture(before, inside, StageInfo(), dtype, before.bytes == after.bytes)) {
      if (!inner.reproduces && !found.empty()) break;
      found.push_back(Boxed(inner.convention, box, value, candidate.words));
      break;
    }
  }
  return found;
}

}  // namespace plumb
