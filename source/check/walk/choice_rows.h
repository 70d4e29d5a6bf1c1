// SPDX-License-Identifier: Apache-2.0
// ChoiceRows: where a step that chooses among scores (ArgMaxOrMin, TopK, PlumbTopK, PlumbHardmax) has its scores and
// its choices. A row is one choice: of one element, or of k.
#ifndef PLUMB_CHECK_WALK_CHOICE_ROWS_H_
#define PLUMB_CHECK_WALK_CHOICE_ROWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "plumb/graph.h"
#include "plumb/tensor.h"

namespace plumb {

struct ChoiceRows {
  int64_t outer = 1, size = 1, inner = 1;  // the scores are [outer][size][inner]
  int64_t k = 1;                           // elements that a row chooses
  double sign = 1;                         // -1: the smallest are chosen
  int slot = 0;                            // the step's output that says which
  bool marks = false;                      // by 1 in place of the element (Hardmax), else by indices

  // Of a layer that chooses, alone or before casts, other shapes and a comparison with each index, as an ONNX file's
  // nodes are imported; nothing for other steps. scores: the shape of the first layer's first input.
  static std::optional<ChoiceRows> Of(const std::vector<const Layer*>& members, const Shape& scores);

  int64_t count() const { return outer * inner; }
  int64_t ScoreAt(int64_t row, int64_t element) const { return (row / inner * size + element) * inner + row % inner; }
  int64_t ChoiceAt(int64_t row, int64_t j) const { return (row / inner * k + j) * inner + row % inner; }
  // The elements that the row chooses, each once, in rising order; what lies outside of the row is left out.
  std::vector<int64_t> ChosenIn(const Tensor& chosen, int64_t row) const;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_WALK_CHOICE_ROWS_H_
