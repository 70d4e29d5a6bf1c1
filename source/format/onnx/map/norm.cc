// SPDX-License-Identifier: Apache-2.0
// Normalisations. Coefficients that are blobs (of a style, say) become a multiplication and an addition.
#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <cmath>

#include "format/onnx/node_context.h"
#include "op/affine.h"
#include "op/lrn.h"
#include "op/norm.h"
#include "op/normalize.h"

namespace plumb::onnx {

namespace {

// A coefficient per channel, for a blob of the input's rank.
Result<Value> PerChannel(NodeContext& c, size_t i) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(c.Rank(0), 2)) - 1, 1);
  dims[0] = c.ShapeOf(0).DimOrOne(1);
  return c.Reshape(c.In(i), dims);
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias
Status NormalizeWithBlobs(NodeContext& c) {
  Value coefficients[5];
  for (size_t i = 1; i < 5; ++i) {
    PLUMB_ASSIGN_OR_RETURN(coefficients[i], PerChannel(c, i));
  }
  const Value epsilon = c.ConstFloat(c.Float("epsilon", 1e-5f), c.DTypeOf(0));
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, c.Binary(OpKind::kAdd, coefficients[4], epsilon));
  PLUMB_ASSIGN_OR_RETURN(const Value inverse, c.Emit(OpKind::kRsqrt, nullptr, {shifted}));
  PLUMB_ASSIGN_OR_RETURN(const Value factor, c.Binary(OpKind::kMul, inverse, coefficients[1]));
  PLUMB_ASSIGN_OR_RETURN(const Value centred, c.Binary(OpKind::kSub, c.In(0), coefficients[3]));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, centred, factor));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kAdd, scaled, coefficients[2]));
  c.Set(0, y);
  return Status::Ok();
}

Result<Tensor> Filled(int64_t count, float value) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, Shape{count}));
  std::fill_n(tensor.data<float>(), count, value);
  return tensor;
}

}  // namespace

// scale = gamma / sqrt(variance + epsilon), bias = beta - mean * scale: computed in double, rounded once.
Status MapBatchNormalization(NodeContext& c) {
  if (c.Int("training_mode", 0) != 0 || c.NumOutputs() > 1) {
    return Status::NotSupported("BatchNormalization in training mode (AL03); export the model in evaluation mode");
  }
  bool known = true;
  for (size_t i = 1; i < 5; ++i) known = known && c.Known(i) != nullptr;
  if (!known) return NormalizeWithBlobs(c);
  const char* kNames[] = {"", "the scale", "the bias", "the mean", "the variance"};
  Tensor given[5];
  for (size_t i = 1; i < 5; ++i) {
    PLUMB_ASSIGN_OR_RETURN(given[i], c.Constant(i, kNames[i]));
    if (given[i].NumElements() != c.ShapeOf(0).DimOrOne(1))
      return Status::CorruptModel(
          fmt::format("{} is {} for the input {}", kNames[i], given[i].shape().ToString(), c.ShapeOf(0).ToString()));
  }
  bool untouched = given[3].NumElements() > 0;
  for (int64_t i = 0; i < given[3].NumElements(); ++i)
    untouched = untouched && given[3].ValueAt(i) == 0 && given[4].ValueAt(i) == 1;
  if (untouched) c.Warn("AL04", "has mean 0 and variance 1 in every channel: was it ever trained?");
  const auto epsilon = static_cast<double>(c.Float("epsilon", 1e-5f));
  const int64_t channels = given[1].NumElements();
  PLUMB_ASSIGN_OR_RETURN(Tensor scale, Tensor::Create(DType::kF32, Shape{channels}));
  PLUMB_ASSIGN_OR_RETURN(Tensor bias, Tensor::Create(DType::kF32, Shape{channels}));
  PLUMB_ASSIGN_OR_RETURN(Tensor terms, Tensor::Create(DType::kF32, Shape{channels}));
  for (int64_t i = 0; i < channels; ++i) {
    const double factor = given[1].ValueAt(i) / std::sqrt(given[4].ValueAt(i) + epsilon);
    scale.data<float>()[i] = static_cast<float>(factor);
    bias.data<float>()[i] = static_cast<float>(given[2].ValueAt(i) - given[3].ValueAt(i) * factor);
    terms.data<float>()[i] =
        static_cast<float>(std::max(std::fabs(given[3].ValueAt(i) * factor), std::fabs(given[2].ValueAt(i))));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor statistics, Tensor::Create(DType::kF32, Shape{5, channels}));
  for (int64_t i = 0; i < statistics.NumElements(); ++i) {
    const int64_t row = i / std::max<int64_t>(1, channels);
    const double value = row == 4 ? epsilon : given[row + 1].ValueAt(i % channels);
    statistics.data<float>()[i] = static_cast<float>(value);
  }
  return c.EmitOutput(OpKind::kBatchNormCxx, nullptr, {c.In(0)},
                      {{"scale", scale}, {"bias", bias}, {kAffineTerms, terms}, {kBatchStatistics, statistics}});
}

Status MapInstanceNormalization(NodeContext& c) {
  auto param = std::make_shared<InstBatchNormParam>();
  param->eps = c.Float("epsilon", 1e-5f);
  const int64_t channels = c.ShapeOf(0).DimOrOne(1);
  if (c.ShapeOf(1).NumElements() != channels || c.ShapeOf(2).NumElements() != channels) {
    return Status::CorruptModel(fmt::format("the scale is {} and the bias {} for the input {}", c.ShapeOf(1).ToString(),
                                            c.ShapeOf(2).ToString(), c.ShapeOf(0).ToString()));
  }
  param->channels = static_cast<int>(channels);
  const Tensor *scale = c.Known(1), *bias = c.Known(2);
  if (scale != nullptr && bias != nullptr) {
    return c.EmitOutput(OpKind::kInstBatchNormCxx, param, {c.In(0)}, {{"scale", *scale}, {"bias", *bias}});
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor one, Filled(channels, 1));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero, Filled(channels, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value normal,
                         c.Emit(OpKind::kInstBatchNormCxx, param, {c.In(0)}, {{"scale", one}, {"bias", zero}}));
  PLUMB_ASSIGN_OR_RETURN(const Value factor, PerChannel(c, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value offset, PerChannel(c, 2));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, normal, factor));
  return c.EmitOutput(OpKind::kAdd, nullptr, {scaled, offset});
}

// A zero column gives 0 / 0 in ONNX and 0 here, as in every runtime.
Status MapLpNormalization(NodeContext& c) {
  auto param = std::make_shared<NormalizeParam>();
  PLUMB_ASSIGN_OR_RETURN(param->axis, NormalizeAxis(static_cast<int>(c.Int("axis", -1)), c.Rank(0)));
  param->p = static_cast<int>(c.Int("p", 2));
  param->epsilon = 1e-37f;
  return c.EmitOutput(OpKind::kNormalize, param, {c.In(0)});
}

Status MapLRN(NodeContext& c) {
  auto param = std::make_shared<LrnParam>();
  param->alpha = c.Float("alpha", 1e-4f);
  param->beta = c.Float("beta", 0.75f);
  param->bias = c.Float("bias", 1);
  param->size = static_cast<int>(c.Int("size", 1));
  return c.EmitOutput(OpKind::kLRN, param, {c.In(0)});
}

}  // namespace plumb::onnx
