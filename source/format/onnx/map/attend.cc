// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/map/attend.h"

#include <cmath>

#include "format/onnx/map/attention_steps.h"
#include "op/expand.h"

namespace plumb::onnx {
namespace {

// The sink as a last column of the scores: the softmax counts it, and it is cut off again.
Result<Value> SoftmaxWithSink(NodeContext& c, const Value& scores, const Value& sink) {
  const Shape shape = c.ShapeOf(scores);
  PLUMB_ASSIGN_OR_RETURN(const Value per_head, c.Reshape(sink, {1, shape[1], 1, 1}));
  auto param = std::make_shared<ExpandParam>();
  PLUMB_ASSIGN_OR_RETURN(param->shape, Narrow({shape[0], shape[1], shape[2], 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value column, c.Emit(OpKind::kExpand, param, {per_head}));
  PLUMB_ASSIGN_OR_RETURN(const Value with_sink, c.Join({scores, column}, 3));
  PLUMB_ASSIGN_OR_RETURN(const Value weights, SoftmaxOfRows(c, with_sink));
  return c.Cut(weights, 3, 0, shape[3]);
}

}  // namespace

Result<Attended> Attend(NodeContext& c, const Value& q, const Value& k, const Value& v, const AttendOptions& options) {
  const auto size = static_cast<double>(c.ShapeOf(q)[3]);
  const float scale = options.scale != 0 ? options.scale : static_cast<float>(1 / std::sqrt(size));
  Attended attended;
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(k, {0, 1, 3, 2}));
  PLUMB_ASSIGN_OR_RETURN(const Value product, c.Emit(OpKind::kMatMul, nullptr, {q, turned}));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled,
                         c.Binary(OpKind::kMul, product, c.ConstFloat(scale, c.builder().Info(q).dtype)));
  PLUMB_ASSIGN_OR_RETURN(attended.scores, CapScores(c, scaled, options.cap));
  if (options.bias.present()) {
    PLUMB_ASSIGN_OR_RETURN(attended.scores, c.Binary(OpKind::kAdd, attended.scores, options.bias));
  }
  PLUMB_ASSIGN_OR_RETURN(attended.probabilities, options.sink.present()
                                                     ? SoftmaxWithSink(c, attended.scores, options.sink)
                                                     : SoftmaxOfRows(c, attended.scores));
  PLUMB_ASSIGN_OR_RETURN(attended.y, c.Emit(OpKind::kMatMul, nullptr, {attended.probabilities, v}));
  return attended;
}

}  // namespace plumb::onnx
