// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's normalisations: of a sum (Skip...), of the sum of embeddings (EmbedLayerNormalization), and by the
// root mean square alone (Simplified...).
#include <fmt/core.h>

#include "format/onnx/map/norm_steps.h"
#include "op/norm.h"
#include "op/reduce.h"

namespace plumb::onnx {

Status MapGather(NodeContext& c);

Result<Value> RootMeanSquareInverse(NodeContext& c, const Value& x, const std::vector<int>& axes, float epsilon) {
  auto mean_of = std::make_shared<ReduceParam>();
  mean_of->keep_dims = true;
  mean_of->axes = axes;
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, x, x));
  PLUMB_ASSIGN_OR_RETURN(const Value mean, c.Emit(OpKind::kReduceMean, mean_of, {square}));
  const Value small = c.ConstFloat(epsilon, c.builder().Info(x).dtype);
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, c.Binary(OpKind::kAdd, mean, small));
  return c.Emit(OpKind::kRsqrt, nullptr, {shifted});
}

namespace {

constexpr float kMicrosoftEpsilon = 1e-12f;

int LastAxis(NodeContext& c, const Value& x) { return c.ShapeOf(x).rank() - 1; }

// Refuses what no runtime computes outside training.
Status NoStatistics(NodeContext& c) {
  if (!c.Wants(1) && !c.Wants(2)) return Status::Ok();
  return Status::NotSupported("the outputs mean and inv_std_var are for training");
}

Result<Value> SkipSum(NodeContext& c, size_t bias) {
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, c.In(0), c.In(1)));
  return c.Has(bias) ? c.Binary(OpKind::kAdd, sum, c.In(bias)) : Result<Value>(sum);
}

Status CheckCoefficients(NodeContext& c, const Value& x, const std::vector<size_t>& inputs) {
  const Shape& shape = c.ShapeOf(x);
  for (const size_t i : inputs) {
    if (!c.Has(i) || (c.Rank(i) == 1 && shape.rank() > 0 && c.ShapeOf(i)[0] == shape[shape.rank() - 1])) continue;
    return Status::CorruptModel(
        fmt::format("input {} is {} for rows of {}", i, c.ShapeOf(i).ToString(), shape.ToString()));
  }
  return Status::Ok();
}

Result<Value> Normalised(NodeContext& c, const Value& x, size_t gamma, size_t beta) {
  PLUMB_RETURN_IF_ERROR(CheckCoefficients(c, x, {gamma, beta}));
  auto param = std::make_shared<LayerNormParam>();
  param->reduce_dims_size = 1;
  param->eps = c.Float("epsilon", kMicrosoftEpsilon);
  std::vector<Value> inputs = {x, c.In(gamma)};
  if (c.Has(beta)) inputs.push_back(c.In(beta));
  return c.Emit(OpKind::kLayerNorm, param, inputs);
}

// Rows of the table; `ids`: i32 or i64.
Result<Value> Rows(NodeContext& c, size_t table, const Value& ids) { return c.Through(MapGather, {c.In(table), ids}); }

// Rows 0, 1, ... of the table for each place, or those that position_ids name.
Result<Value> PositionRows(NodeContext& c, int64_t length) {
  if (c.Has(8)) return Rows(c, 3, c.In(8));
  PLUMB_ASSIGN_OR_RETURN(const Value places, c.Positions(Shape{length}, 0));
  return Rows(c, 3, places);
}

// How many entries of a row of the mask are 1; 0 without a mask.
Result<Value> MaskIndex(NodeContext& c) {
  if (!c.Has(7)) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor none, Tensor::Zeros(DType::kI32, Shape{c.ShapeOf(0)[0]}));
    return c.Const(none);
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor one, IntTensor({1}));
  PLUMB_ASSIGN_OR_RETURN(const Value wide, c.CastTo(c.In(7), DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value ones, c.Emit(OpKind::kEqual, nullptr, {wide, c.Const(one)}));
  PLUMB_ASSIGN_OR_RETURN(const Value whole, c.CastTo(ones, DType::kI64));
  auto sum = std::make_shared<ReduceParam>();
  sum->keep_dims = false;
  sum->axes = {1};
  PLUMB_ASSIGN_OR_RETURN(const Value count, c.Emit(OpKind::kReduceSum, sum, {whole}));
  return c.CastTo(count, DType::kI32);
}

}  // namespace

Status MapSimplifiedLayerNormalization(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", -1)), c.Rank(0)));
  std::vector<int> axes;
  for (int i = axis; i < c.Rank(0); ++i) axes.push_back(i);
  PLUMB_ASSIGN_OR_RETURN(const Value inverse, RootMeanSquareInverse(c, c.In(0), axes, c.Float("epsilon", 1e-5f)));
  PLUMB_ASSIGN_OR_RETURN(const Value normal, c.Binary(OpKind::kMul, c.In(0), inverse));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, normal, c.In(1)));
  c.Set(0, y, c.In(1).type);
  if (c.Wants(1)) c.Set(1, inverse, kTypeFloat);
  return Status::Ok();
}

Status MapMicrosoftSkipLayerNormalization(NodeContext& c) {
  PLUMB_RETURN_IF_ERROR(NoStatistics(c));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, SkipSum(c, 4));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Normalised(c, sum, 2, 3));
  c.Set(0, y);
  if (c.Wants(3)) c.Set(3, sum);
  return Status::Ok();
}

Status MapMicrosoftSkipSimplifiedLayerNormalization(NodeContext& c) {
  PLUMB_RETURN_IF_ERROR(NoStatistics(c));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, SkipSum(c, 3));
  PLUMB_RETURN_IF_ERROR(CheckCoefficients(c, sum, {2}));
  PLUMB_ASSIGN_OR_RETURN(const Value inverse,
                         RootMeanSquareInverse(c, sum, {LastAxis(c, sum)}, c.Float("epsilon", kMicrosoftEpsilon)));
  PLUMB_ASSIGN_OR_RETURN(const Value normal, c.Binary(OpKind::kMul, sum, inverse));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, normal, c.In(2)));
  c.Set(0, y);
  if (c.Wants(3)) c.Set(3, sum);
  return Status::Ok();
}

Status MapMicrosoftEmbedLayerNormalization(NodeContext& c) {
  if (c.Rank(0) != 2)
    return Status::CorruptModel(fmt::format("input_ids are {}, expected 2 dims", c.ShapeOf(0).ToString()));
  if (c.Has(1) != c.Has(4)) return Status::CorruptModel("segment_ids and segment_embedding go together");
  PLUMB_ASSIGN_OR_RETURN(const Value words, Rows(c, 2, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value places, PositionRows(c, c.ShapeOf(0)[1]));
  PLUMB_ASSIGN_OR_RETURN(Value sum, c.Binary(OpKind::kAdd, words, places));
  if (c.Has(1)) {
    PLUMB_ASSIGN_OR_RETURN(const Value segments, Rows(c, 4, c.In(1)));
    PLUMB_ASSIGN_OR_RETURN(sum, c.Binary(OpKind::kAdd, sum, segments));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, Normalised(c, sum, 5, 6));
  c.Set(0, y, c.In(2).type);
  if (c.Wants(1)) {
    PLUMB_ASSIGN_OR_RETURN(const Value index, MaskIndex(c));
    c.Set(1, index, kTypeInt32);
  }
  (void)c.Int("mask_index_type", 0);  // says only what the next operator reads
  if (c.Wants(2)) c.Set(2, sum, c.In(2).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
