// SPDX-License-Identifier: Apache-2.0
// Scores of logits along the last axis: softmax, sigmoid, softmax of a softmax, the background class dropped.
#include <algorithm>
#include <cmath>

#include "stage/picture.h"

namespace plumb {
namespace {

using RowFunction = void (*)(const float* from, int64_t count, float* to);

void Softmax(const float* from, int64_t count, float* to) {
  const double largest = static_cast<double>(*std::max_element(from, from + count));
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(from[i]) - largest);
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(std::exp(static_cast<double>(from[i]) - largest) / sum);
}

void SoftmaxTwice(const float* from, int64_t count, float* to) {
  std::vector<float> once(static_cast<size_t>(count));
  Softmax(from, count, once.data());
  Softmax(once.data(), count, to);
}

void LogSoftmax(const float* from, int64_t count, float* to) {
  Softmax(from, count, to);
  for (int64_t i = 0; i < count; ++i) to[i] = std::log(to[i]);
}

void SigmoidOfEach(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(from[i]))));
}

void UnitLength(const float* from, int64_t count, float* to) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(from[i]) * static_cast<double>(from[i]);
  for (int64_t i = 0; i < count; ++i)
    to[i] = sum > 0 ? static_cast<float>(static_cast<double>(from[i]) / std::sqrt(sum)) : 0;
}

// `dropped`: how many classes at the front the result lacks.
Convention ScoreRow(const char* name, const char* code, int64_t dropped, RowFunction function) {
  return {name, name, code,
          [dropped, function](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            const bool applies = !target.bytes && before.channels == 1 && target.channels == 1 &&
                                 before.height == target.height && before.width == target.width + dropped &&
                                 before.width > 1;
            if (!applies) return std::nullopt;
            Picture after = MakePicture(target.height, target.width, 1, false);
            std::vector<float> line(static_cast<size_t>(before.width));
            for (int64_t h = 0; h < before.height; ++h) {
              function(before.Row(h), before.width, line.data());
              std::copy(line.begin() + static_cast<std::ptrdiff_t>(dropped), line.end(), after.Row(h));
            }
            return after;
          }};
}

// Along columns: over the steps or boxes in place of the classes.
Convention AcrossRows() {
  const char* name = "a softmax along the other axis";
  return {name, name, "", [](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            if (target.bytes || before.channels != 1 || target.channels != 1 || before.height != target.height ||
                before.width != target.width || before.height < 2)
              return std::nullopt;
            Picture after = before;
            std::vector<float> from(static_cast<size_t>(before.height)), to = from;
            for (int64_t w = 0; w < before.width; ++w) {
              for (int64_t h = 0; h < before.height; ++h) from[static_cast<size_t>(h)] = before.Row(h)[w];
              Softmax(from.data(), before.height, to.data());
              for (int64_t h = 0; h < before.height; ++h) after.Row(h)[w] = to[static_cast<size_t>(h)];
            }
            return after;
          }};
}

}  // namespace

void AddScores(std::vector<Convention>* list) {
  list->push_back(ScoreRow("a softmax", "scores = scipy.special.softmax(logits, axis=-1)", 0, Softmax));
  list->push_back(AcrossRows());
  list->push_back(ScoreRow("a softmax of a softmax (the network has one already)", "scores = logits", 0, SoftmaxTwice));
  list->push_back(ScoreRow("a sigmoid", "scores = 1 / (1 + np.exp(-logits))", 0, SigmoidOfEach));
  list->push_back(ScoreRow("the logarithm of a softmax", "", 0, LogSoftmax));
  list->push_back(
      ScoreRow("vectors of length one", "x = x / np.linalg.norm(x, axis=-1, keepdims=True)", 0, UnitLength));
  list->push_back(ScoreRow("a softmax without its first class (background)", "scores = scores[..., 1:]", 1, Softmax));
}

}  // namespace plumb
