// SPDX-License-Identifier: Apache-2.0
// LayerNormalization, GroupNormalization, MeanVarianceNormalization, RMSNormalization. Where more than the normalised
// blob is wanted, or the coefficients do not have TNN's shape, the pieces are written out: mean, difference, variance,
// ...
#include <algorithm>

#include "format/onnx/map/norm_steps.h"
#include "op/activation.h"
#include "op/norm.h"
#include "op/reduce.h"

namespace plumb::onnx {
namespace {

Result<Value> Mean(NodeContext& c, const Value& x, const std::vector<int>& axes) {
  auto param = std::make_shared<ReduceParam>();
  param->keep_dims = true;
  param->axes = axes;
  return c.Emit(OpKind::kReduceMean, param, {x});
}

// The type that the coefficient has to have; an f32 model is computed in f32.
Result<Value> Scaled(NodeContext& c, const Value& y, size_t scale, size_t bias) {
  PLUMB_ASSIGN_OR_RETURN(const Value product, c.Binary(OpKind::kMul, y, c.In(scale)));
  if (!c.Has(bias)) return product;
  return c.Binary(OpKind::kAdd, product, c.In(bias));
}

}  // namespace

Status MapLayerNormalization(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", -1)), c.Rank(0)));
  auto param = std::make_shared<LayerNormParam>();
  param->reduce_dims_size = c.Rank(0) - axis;
  param->eps = c.Float("epsilon", 1e-5f);
  const int64_t gammas = c.ShapeOf(0).CountFrom(axis);
  std::vector<Value> inputs = {c.In(0)};
  bool plain = true;
  for (size_t i = 1; i < 3 && c.Has(i); ++i) {
    inputs.push_back(c.In(i));
    plain = plain && c.ShapeOf(i).NumElements() == gammas;
  }
  if (plain) {
    PLUMB_RETURN_IF_ERROR(c.EmitOutput(OpKind::kLayerNorm, param, inputs));
  } else {
    PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kLayerNorm, param, {c.In(0)}));
    PLUMB_ASSIGN_OR_RETURN(const Value scaled, Scaled(c, y, 1, 2));
    c.Set(0, scaled);
  }
  if (!c.Wants(1) && !c.Wants(2)) return Status::Ok();
  std::vector<int> axes;
  for (int i = axis; i < c.Rank(0); ++i) axes.push_back(i);
  PLUMB_ASSIGN_OR_RETURN(const Value mean, Mean(c, c.In(0), axes));
  if (c.Wants(1)) c.Set(1, mean);
  if (!c.Wants(2)) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Value difference, c.Binary(OpKind::kSub, c.In(0), mean));
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, difference, difference));
  PLUMB_ASSIGN_OR_RETURN(const Value variance, Mean(c, square, axes));
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, c.Binary(OpKind::kAdd, variance, c.ConstFloat(param->eps, c.DTypeOf(0))));
  PLUMB_ASSIGN_OR_RETURN(const Value inverse, c.Emit(OpKind::kRsqrt, nullptr, {shifted}));
  c.Set(2, inverse);
  return Status::Ok();
}

// Before opset 21 there is one gamma per group: repeated for its channels where it is constant.
Status MapGroupNormalization(NodeContext& c) {
  auto param = std::make_shared<GroupNormParam>();
  param->group = static_cast<int>(c.Int("num_groups", 1));
  param->eps = c.Float("epsilon", 1e-5f);
  const int64_t channels = c.ShapeOf(0).DimOrOne(1);
  std::vector<Value> inputs = {c.In(0)};
  for (size_t i = 1; i < 3; ++i) {
    Value coefficient = c.In(i);
    if (c.ShapeOf(i).NumElements() == param->group && param->group != channels && channels % param->group == 0) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor per_group, c.Constant(i, i == 1 ? "the scale" : "the bias"));
      PLUMB_ASSIGN_OR_RETURN(Tensor repeated, Tensor::Create(DType::kF32, Shape{channels}));
      for (int64_t k = 0; k < channels; ++k)
        repeated.data<float>()[k] = static_cast<float>(per_group.ValueAt(k / (channels / param->group)));
      coefficient = c.Const(repeated);
    }
    inputs.push_back(coefficient);
  }
  return c.EmitOutput(OpKind::kGroupNorm, param, inputs);
}

// (x - mean) / (sqrt(mean of squares - mean^2) + 1e-9)
Status MapMeanVarianceNormalization(NodeContext& c) {
  std::vector<int64_t> wanted = c.IntList("axes");
  if (wanted.empty()) wanted = {0, 2, 3};
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> axes, Narrow(wanted));
  PLUMB_ASSIGN_OR_RETURN(const Value mean, Mean(c, c.In(0), axes));
  PLUMB_ASSIGN_OR_RETURN(const Value difference, c.Binary(OpKind::kSub, c.In(0), mean));
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, difference, difference));
  PLUMB_ASSIGN_OR_RETURN(const Value variance, Mean(c, square, axes));
  PLUMB_ASSIGN_OR_RETURN(const Value deviation, c.Emit(OpKind::kSqrt, nullptr, {variance}));
  PLUMB_ASSIGN_OR_RETURN(const Value divisor, c.Binary(OpKind::kAdd, deviation, c.ConstFloat(1e-9f, c.DTypeOf(0))));
  return c.EmitOutput(OpKind::kDiv, nullptr, {difference, divisor});
}

// x / sqrt(mean(x^2) + epsilon) * scale
Status MapRMSNormalization(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", -1)), c.Rank(0)));
  std::vector<int> axes;
  for (int i = axis; i < c.Rank(0); ++i) axes.push_back(i);
  PLUMB_ASSIGN_OR_RETURN(const Value inverse, RootMeanSquareInverse(c, c.In(0), axes, c.Float("epsilon", 1e-5f)));
  PLUMB_ASSIGN_OR_RETURN(const Value normal, c.Binary(OpKind::kMul, c.In(0), inverse));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, normal, c.In(1)));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
