// Normalisations with constant coefficients.
#include <algorithm>
#include <climits>
#include <cmath>

#include "format/onnx/node_context.h"
#include "op/affine.h"
#include "op/lrn.h"
#include "op/norm.h"
#include "op/normalize.h"

namespace plumb::onnx {

// scale = gamma / sqrt(variance + epsilon), bias = beta - mean * scale: computed in double, rounded once.
Status MapBatchNormalization(NodeContext& c) {
  if (c.Int("training_mode", 0) != 0 || c.NumOutputs() > 1) {
    return Status::NotSupported("BatchNormalization in training mode (AL03); export the model in evaluation mode");
  }
  const char* kNames[] = {"", "the scale", "the bias", "the mean", "the variance"};
  Tensor given[5];
  for (size_t i = 1; i < 5; ++i) {
    PLUMB_ASSIGN_OR_RETURN(given[i], c.Constant(i, kNames[i]));
    if (given[i].NumElements() != c.ShapeOf(0).DimOrOne(1)) return Status::CorruptModel(std::string(kNames[i]) + " is " + given[i].shape().ToString() + " for the input " + c.ShapeOf(0).ToString());
  }
  bool untouched = given[3].NumElements() > 0;
  for (int64_t i = 0; i < given[3].NumElements(); ++i) untouched = untouched && given[3].ValueAt(i) == 0 && given[4].ValueAt(i) == 1;
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
    terms.data<float>()[i] = static_cast<float>(std::max(std::fabs(given[3].ValueAt(i) * factor), std::fabs(given[2].ValueAt(i))));
  }
  return c.EmitOutput(OpKind::kBatchNormCxx, nullptr, {c.In(0)}, {{"scale", scale}, {"bias", bias}, {kAffineTerms, terms}});
}

Status MapInstanceNormalization(NodeContext& c) {
  auto param = std::make_shared<InstBatchNormParam>();
  param->eps = c.Float("epsilon", 1e-5f);
  PLUMB_ASSIGN_OR_RETURN(const Tensor scale, c.Constant(1, "the scale"));
  PLUMB_ASSIGN_OR_RETURN(const Tensor bias, c.Constant(2, "the bias"));
  param->channels = static_cast<int>(scale.NumElements());
  return c.EmitOutput(OpKind::kInstBatchNormCxx, param, {c.In(0)}, {{"scale", scale}, {"bias", bias}});
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
