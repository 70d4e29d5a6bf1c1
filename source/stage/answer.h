// SPDX-License-Identifier: Apache-2.0
// What a program answers: a class, boxes, a mask, a text; and whether two answers are the same.
#ifndef PLUMB_STAGE_ANSWER_H_
#define PLUMB_STAGE_ANSWER_H_

#include <optional>
#include <string>

#include "plumb/tensor.h"

namespace plumb {

// top-1 of scores or logits along the last axis; or of class numbers, the first.
struct TopAnswer {
  int64_t index = -1;
  double value = 0, margin = 0;  // `margin`: to the second
  bool numbers = false;          // `index` is what the tensor holds
  std::string text() const;
};
std::optional<TopAnswer> AnswerOf(const Tensor& values, const std::string& kind);

struct AnswerPair {
  std::string original, port;  // "#751 0.93 (margin 0.4)", "3 boxes, the best 0.998"
  std::string detail;          // how they differ, of sets, masks and texts: "IoU 0.93: ..."
  bool same = false;
  bool top = false;  // it is a top-1
};
// `kind`: of the stage. Boxes and masks are the same from an IoU of 0.99 on, the scores of boxes within `tolerance`.
// Nothing: it is no answer.
std::optional<AnswerPair> CompareAnswers(const Tensor& original, const Tensor& port, const std::string& kind,
                                         double tolerance);

}  // namespace plumb

#endif  // PLUMB_STAGE_ANSWER_H_
