// SPDX-License-Identifier: Apache-2.0
// Operators whose output sizes depend on values: a network is prepared for fixed shapes, so the inputs that decide the
// size must be known before it runs (a constant, or integers computed from shapes); otherwise the layer is refused.
//   PlumbNonZero: coordinates of the elements that are not 0, i64 [rank, count].
//   PlumbCompress: the slices along `axis` (without has_axis: the elements of the flattened input) where the condition,
//     the second input, holds; only the condition must be known.
//   PlumbUnique: the distinct elements (with has_axis: slices), sorted or in order of appearance, and as i64 the index
//   of
//     each one's first appearance, for each input element its place among them, and how often each one occurs.
//   PlumbNonMaxSuppression: inputs boxes [batch, boxes, 4], scores [batch, classes, boxes], then as far as given the
//     largest number of boxes per class (0 without), the IoU threshold (0), the score threshold (none); i64 [count, 3]
//     of batch, class, box. Boxes are y1 x1 y2 x2, or with center_point_box x y width height.
#ifndef PLUMB_OP_SELECTION_H_
#define PLUMB_OP_SELECTION_H_

#include "op/core/op.h"

namespace plumb {

struct CompressParam : ParamBase<CompressParam> {
  bool has_axis = false;
  int axis = 0;
  void Visit(ParamVisitor& v) override {
    v.Bool("has_axis", has_axis);
    v.Int("axis", axis);
  }
};

struct UniqueParam : ParamBase<UniqueParam> {
  bool has_axis = false;
  int axis = 0;
  bool sorted = true;
  void Visit(ParamVisitor& v) override {
    v.Bool("has_axis", has_axis);
    v.Int("axis", axis);
    v.Bool("sorted", sorted);
  }
};

struct NonMaxSuppressionParam : ParamBase<NonMaxSuppressionParam> {
  bool center_point_box = false;
  void Visit(ParamVisitor& v) override { v.Bool("center_point_box", center_point_box); }
};

// The outputs of NonZero, Unique and NonMaxSuppression on inputs with values.
Result<std::vector<Tensor>> Select(const Layer& layer, const std::vector<BlobInfo>& inputs);

// Compress: the slices of `data` that stay, as [outer][size][inner].
struct CompressShape {
  int64_t outer = 1, size = 1, inner = 1;
  std::vector<int64_t> kept;
  Shape out;
};
Result<CompressShape> ResolveCompress(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_SELECTION_H_
