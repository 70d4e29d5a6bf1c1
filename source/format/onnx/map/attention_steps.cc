// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/map/attention_steps.h"

#include <fmt/core.h>

#include <cmath>

#include "op/expand.h"
#include "op/softmax.h"

namespace plumb::onnx {

Result<Value> SplitHeads(NodeContext& c, const Value& x, int64_t heads, const std::string& what) {
  const Shape shape = c.ShapeOf(x);
  if (shape.rank() != 3 || heads < 1 || shape[2] % heads != 0) {
    return Status::CorruptModel(fmt::format("{} is {} with {} heads", what, shape.ToString(), heads));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value split, c.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads}));
  return c.Transpose(split, {0, 2, 1, 3});
}

Result<Value> JoinHeads(NodeContext& c, const Value& x) {
  const Shape shape = c.ShapeOf(x);
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(x, {0, 2, 1, 3}));
  return c.Reshape(turned, {shape[0], shape[2], shape[1] * shape[3]});
}

Result<Value> RepeatHeads(NodeContext& c, const Value& x, int64_t heads) {
  const Shape shape = c.ShapeOf(x);
  if (shape[1] == heads) return x;
  if (shape[1] < 1 || heads % shape[1] != 0) {
    return Status::CorruptModel(fmt::format("{} heads of queries for {} of keys", heads, shape[1]));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value one, c.Unsqueeze(x, 2));
  auto param = std::make_shared<ExpandParam>();
  PLUMB_ASSIGN_OR_RETURN(param->shape, Narrow({shape[0], shape[1], heads / shape[1], shape[2], shape[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value all, c.Emit(OpKind::kExpand, param, {one}));
  return c.Reshape(all, {shape[0], heads, shape[2], shape[3]});
}

Result<Value> WholeNumber(NodeContext& c, int64_t value) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor({value}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, list.Reshaped(Shape{}));
  return c.Const(scalar);
}

Status AttentionBias::Add(const Value& more) {
  if (!total_.present()) {
    total_ = more;
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(total_, c_.Binary(OpKind::kAdd, total_, more));
  return Status::Ok();
}

Status AttentionBias::Choose(const Value& where, float yes, float no) {
  PLUMB_ASSIGN_OR_RETURN(const Value more, c_.Select(where, c_.ConstFloat(yes, dtype_), c_.ConstFloat(no, dtype_)));
  return Add(more);
}

Status AttentionBias::Window(const Value& offset, int64_t queries, int64_t keys, int64_t left, int64_t right) {
  if (left < 0 && right < 0) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Value i, c_.Positions(Shape{queries, 1}, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value j, c_.Positions(Shape{1, keys}, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value at, c_.Binary(OpKind::kAdd, i, offset));
  PLUMB_ASSIGN_OR_RETURN(const Value ahead, c_.Binary(OpKind::kSub, j, at));
  if (right >= 0) {
    PLUMB_ASSIGN_OR_RETURN(const Value most, WholeNumber(c_, right));
    PLUMB_ASSIGN_OR_RETURN(const Value too_far, c_.Emit(OpKind::kGreater, nullptr, {ahead, most}));
    PLUMB_RETURN_IF_ERROR(Forbid(too_far));
  }
  if (left < 0) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Value least, WholeNumber(c_, -left));
  PLUMB_ASSIGN_OR_RETURN(const Value too_old, c_.Emit(OpKind::kLess, nullptr, {ahead, least}));
  return Forbid(too_old);
}

Result<Value> CapScores(NodeContext& c, const Value& scores, float cap) {
  if (cap == 0) return scores;
  const Value limit = c.ConstFloat(cap, c.builder().Info(scores).dtype);
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Binary(OpKind::kDiv, scores, limit));
  PLUMB_ASSIGN_OR_RETURN(const Value bent, c.Emit(OpKind::kTanh, nullptr, {part}));
  return c.Binary(OpKind::kMul, bent, limit);
}

Result<Value> SoftmaxOfRows(NodeContext& c, const Value& scores) {
  auto softmax = std::make_shared<SoftmaxParam>();
  softmax->axis = c.ShapeOf(scores).rank() - 1;
  return c.Emit(OpKind::kSoftmax, softmax, {scores});
}

}  // namespace plumb::onnx
