// SPDX-License-Identifier: Apache-2.0
// Boxes: rows of four numbers and what may follow them (score, class), in the forms that programs have. Rows are a
// picture of one channel, as wide as a row is long.
//   corners x1 y1 x2 y2; centre cx cy w h; corner and size x y w h (COCO's). "Inclusive": x2 = x1 + w - 1, as in code
//   that counts pixels (Fast R-CNN's).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "stage/boxes.h"

namespace plumb {
namespace {

enum class BoxForm { kCorners, kCentre, kSize };
struct FormWords {
  BoxForm form;
  const char* words;
};
constexpr FormWords kForms[] = {{BoxForm::kCorners, "corners (x1, y1, x2, y2)"},
                                {BoxForm::kCentre, "centre and size (cx, cy, w, h)"},
                                {BoxForm::kSize, "corner and size (x, y, w, h)"}};

void ToCorners(BoxForm form, float pixel, const float* from, float* to) {
  const float width = from[2], height = from[3];
  switch (form) {
    case BoxForm::kCorners: std::copy_n(from, 4, to); return;
    case BoxForm::kCentre:
      to[0] = from[0] - width / 2, to[1] = from[1] - height / 2;
      to[2] = from[0] + width / 2 - pixel, to[3] = from[1] + height / 2 - pixel;
      return;
    case BoxForm::kSize:
      to[0] = from[0], to[1] = from[1];
      to[2] = from[0] + width - pixel, to[3] = from[1] + height - pixel;
      return;
  }
}

void FromCorners(BoxForm form, float pixel, const float* from, float* to) {
  const float width = from[2] - from[0] + pixel, height = from[3] - from[1] + pixel;
  switch (form) {
    case BoxForm::kCorners: std::copy_n(from, 4, to); return;
    case BoxForm::kCentre: to[0] = from[0] + width / 2, to[1] = from[1] + height / 2; break;
    case BoxForm::kSize: to[0] = from[0], to[1] = from[1]; break;
  }
  to[2] = width, to[3] = height;
}

bool AreRows(const Picture& before, const PictureTarget& target) {
  return before.channels == 1 && target.channels == 1 && !target.bytes && before.width >= 4 && before.width <= 8 &&
         before.width == target.width && before.height == target.height;
}

Convention FormRow(const FormWords& from, const FormWords& to, bool inclusive) {
  const std::string name = std::string("boxes of ") + from.words + " as " + to.words + (inclusive ? ", inclusive" : "");
  return {name, name, "",
          [from = from.form, to = to.form, inclusive](const Picture& before,
                                                      const PictureTarget& target) -> std::optional<Picture> {
            if (!AreRows(before, target)) return std::nullopt;
            Picture after = before;
            const float pixel = inclusive ? 1.0f : 0.0f;
            for (int64_t h = 0; h < before.height; ++h) {
              float corners[4], box[4];
              ToCorners(from, pixel, before.Row(h), corners);
              FromCorners(to, pixel, corners, box);
              std::copy_n(box, 4, after.Row(h));
            }
            return after;
          }};
}

constexpr int kAllDecimals = 9;

// Values of the answer that were rounded for a file: boxes to 3 decimals, scores to 5.
Convention RoundedRow(int of_boxes, int of_scores) {
  std::string name = of_boxes == 0 ? "boxes rounded to whole pixels"
                                   : fmt::format("boxes rounded to {} decimal{}", of_boxes, of_boxes > 1 ? "s" : "");
  if (of_scores < kAllDecimals) name += fmt::format(", scores to {}", of_scores);
  const double scales[] = {std::pow(10.0, of_boxes), std::pow(10.0, of_scores)};
  const bool scored = of_scores < kAllDecimals;
  return {name, name, "",
          [scored, of_box = scales[0], of_score = scales[1]](const Picture& before,
                                                             const PictureTarget& target) -> std::optional<Picture> {
            if (!AreRows(before, target) || (scored && before.width < 5)) return std::nullopt;
            Picture after = before;
            for (int64_t h = 0; h < before.height; ++h) {
              for (int64_t column = 0; column < std::min<int64_t>(before.width, scored ? 5 : 4); ++column) {
                const double scale = column < 4 ? of_box : of_score;
                float& value = after.Row(h)[column];
                value = static_cast<float>(std::nearbyint(static_cast<double>(value) * scale) / scale);
              }
            }
            return after;
          }};
}

}  // namespace

void AddBoxes(std::vector<Convention>* list) {
  for (const FormWords& from : kForms) {
    for (const FormWords& to : kForms) {
      if (from.form == to.form) continue;
      for (const bool inclusive : {false, true}) list->push_back(FormRow(from, to, inclusive));
    }
  }
  for (const int of_boxes : {0, 1, 2, 3, 4}) {
    for (const int of_scores : {kAllDecimals, 2, 3, 4, 5, 6}) list->push_back(RoundedRow(of_boxes, of_scores));
  }
}

double BoxOverlap(const float* a, const float* b, float pixel) {
  const double width = static_cast<double>(std::min(a[2], b[2]) - std::max(a[0], b[0]) + pixel);
  const double height = static_cast<double>(std::min(a[3], b[3]) - std::max(a[1], b[1]) + pixel);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [pixel](const float* box) {
    return static_cast<double>(box[2] - box[0] + pixel) * static_cast<double>(box[3] - box[1] + pixel);
  };
  const double shared = width * height, all = area(a) + area(b) - shared;
  return all > 0 ? shared / all : 0;
}

}  // namespace plumb
