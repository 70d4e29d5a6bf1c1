// SPDX-License-Identifier: Apache-2.0
#include "stage/answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stage/boxes.h"
#include "stage/masks.h"
#include "stage/written_text.h"

namespace plumb {
namespace {

constexpr double kSameOverlap = 0.99;

// Rows of numbers; a set may be empty.
std::optional<Picture> SetOf(const Tensor& tensor) {
  if (tensor.shape().rank() == 2 && tensor.NumElements() == 0) return MakePicture(0, tensor.shape()[1], 1, false);
  if (tensor.shape().rank() == 3 && tensor.shape()[0] == 1) return PictureOf(tensor, LayoutOf(tensor.shape(), "NHW"));
  return PictureOf(tensor, LayoutOf(tensor.shape(), "HW"));
}

std::string BoxesText(const Picture& rows) {
  if (rows.height == 0) return "no box";
  float best = rows.Row(0)[4];
  for (int64_t h = 1; h < rows.height; ++h) best = std::max(best, rows.Row(h)[4]);
  return fmt::format("{} {}, the best {}", rows.height, rows.height == 1 ? "box" : "boxes", Number(best, 4));
}

std::optional<AnswerPair> CompareBoxes(const Picture& original, const Picture& port, double tolerance) {
  const auto sets = CompareDetections(original, port);
  if (!sets.has_value()) return std::nullopt;
  AnswerPair pair{BoxesText(original), BoxesText(port), sets->text()};
  pair.same =
      sets->only_a + sets->only_b == 0 && sets->smallest_overlap > kSameOverlap && sets->largest_score <= tolerance;
  return pair;
}

std::optional<AnswerPair> CompareMaskAnswers(const Picture& original, const Picture& port) {
  const auto overlap = CompareMasks(original, port);
  if (!overlap.has_value()) return std::nullopt;
  AnswerPair pair{fmt::format("{} pixels", overlap->both + overlap->only_a),
                  fmt::format("{} pixels", overlap->both + overlap->only_b), overlap->text()};
  pair.same = overlap->share() > kSameOverlap;
  return pair;
}

std::optional<AnswerPair> CompareTop(const Tensor& original, const Tensor& port, const std::string& kind) {
  const auto a = AnswerOf(original, kind), b = AnswerOf(port, kind);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  AnswerPair pair{a->text(), b->text(), ""};
  pair.same = a->index == b->index;
  pair.top = true;
  return pair;
}

}  // namespace

std::optional<AnswerPair> CompareAnswers(const Tensor& original, const Tensor& port, const std::string& kind,
                                         double tolerance) {
  if (kind == "text") {
    const auto texts = CompareTexts(original, port);
    if (!texts.has_value()) return std::nullopt;
    AnswerPair pair{texts->original, texts->port, texts->text()};
    pair.same = texts->distance == 0;
    return pair;
  }
  if (kind == "detections") {
    const auto a = SetOf(original), b = SetOf(port);
    return a.has_value() && b.has_value() ? CompareBoxes(*a, *b, tolerance) : std::nullopt;
  }
  if (kind != "mask") return CompareTop(original, port, kind);
  const auto layout = [](const Tensor& masks) {
    const PictureLayout found = LayoutOf(masks.shape(), "");
    return found.ok ? found : LayoutOf(masks.shape(), "NHW");
  };
  const auto a = PictureOf(original, layout(original)), b = PictureOf(port, layout(port));
  return a.has_value() && b.has_value() ? CompareMaskAnswers(*a, *b) : std::nullopt;
}

std::string TopAnswer::text() const {
  if (numbers) return fmt::format("#{}", index);
  return fmt::format("#{} {} (margin {})", index, Number(value, 4), Number(margin, 3));
}

std::optional<TopAnswer> AnswerOf(const Tensor& values, const std::string& kind) {
  const int64_t count = values.NumElements();
  if (count == 0) return std::nullopt;
  TopAnswer answer;
  if (kind == "classes" && !IsFloat(values.dtype())) {
    answer.numbers = true;
    answer.index = static_cast<int64_t>(values.ValueAt(0));
    return answer;
  }
  const bool scores = kind == "scores" || kind == "model";
  const int64_t classes = values.shape().rank() == 0 ? 1 : values.shape()[values.shape().rank() - 1];
  int64_t length = classes;
  if (values.shape().rank() == 4 && values.shape().CountFrom(2) == 1) length = values.shape()[1];  // [1,C,1,1]
  if (!scores || length < 2 || length != count) return std::nullopt;
  double second = -HUGE_VAL;
  answer.value = -HUGE_VAL;
  for (int64_t i = 0; i < count; ++i) {
    const double value = values.ValueAt(i);
    if (value > answer.value) {
      second = answer.value;
      answer.value = value, answer.index = i;
    } else if (value > second) {
      second = value;
    }
  }
  if (answer.index < 0) return std::nullopt;
  answer.margin = answer.value - second;
  return answer;
}

}  // namespace plumb
