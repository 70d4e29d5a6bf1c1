// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression of boxes and scores that are known when the model is loaded (how many boxes stay depends on them).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box BoxAt(const Tensor& boxes, int64_t at, bool centered) {
  const double a = boxes.ValueAt(at * 4), b = boxes.ValueAt(at * 4 + 1), c = boxes.ValueAt(at * 4 + 2),
               d = boxes.ValueAt(at * 4 + 3);
  if (centered) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};  // x center, y center, width, height
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

double Overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
               width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

Result<double> Optional(NodeContext& c, size_t i, const char* what, double fallback) {
  if (!c.Has(i)) return fallback;
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, c.Constant(i, what));
  if (value.NumElements() != 1) return Status::CorruptModel(std::string(what) + " must be one value");
  return value.ValueAt(0);
}

}  // namespace

Status MapNonMaxSuppression(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor boxes, c.Constant(0, "the boxes"));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scores, c.Constant(1, "the scores"));
  PLUMB_ASSIGN_OR_RETURN(const double most, Optional(c, 2, "max_output_boxes_per_class", 0));
  PLUMB_ASSIGN_OR_RETURN(const double overlap, Optional(c, 3, "iou_threshold", 0));
  PLUMB_ASSIGN_OR_RETURN(const double least, Optional(c, 4, "score_threshold", -INFINITY));
  const Shape& b = boxes.shape();
  const Shape& s = scores.shape();
  if (b.rank() != 3 || s.rank() != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2])
    return Status::CorruptModel(fmt::format("boxes {} and scores {} do not fit", b.ToString(), s.ToString()));
  if (b[1] > 10000) return Status::NotSupported("more than 10000 boxes");
  std::vector<int64_t> chosen;
  for (int64_t batch = 0; batch < s[0]; ++batch) {
    for (int64_t kind = 0; kind < s[1]; ++kind) {
      const int64_t row = (batch * s[1] + kind) * s[2];
      std::vector<int64_t> order;
      for (int64_t i = 0; i < s[2]; ++i) {
        if (scores.ValueAt(row + i) > least) order.push_back(i);
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t x, int64_t y) { return scores.ValueAt(row + x) > scores.ValueAt(row + y); });
      std::vector<Box> kept;
      for (const int64_t i : order) {
        if (static_cast<double>(kept.size()) >= most) break;
        const Box box = BoxAt(boxes, batch * b[1] + i, c.Int("center_point_box", 0) != 0);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return Overlap(box, other) > overlap; }))
          continue;
        kept.push_back(box);
        chosen.insert(chosen.end(), {batch, kind, i});
      }
    }
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor(chosen));
  PLUMB_ASSIGN_OR_RETURN(const Tensor y, list.Reshaped(Shape{static_cast<int64_t>(chosen.size() / 3), 3}));
  c.Set(0, c.Const(y), kTypeInt64);
  return Status::Ok();
}

}  // namespace plumb::onnx
