// SPDX-License-Identifier: Apache-2.0
// Functions of values, and counts of them.
#include <fmt/core.h>

#include "format/tnn/translate.h"
#include "op/bitwise.h"
#include "op/one_hot.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "op/split_v.h"
#include "op/strided_slice.h"

namespace plumb::tnn {
namespace {

struct ShiftParam : ParamBase<ShiftParam> {
  int direction = 0, bits = 0;  // 0 right, 1 left
  void Visit(ParamVisitor& v) override {
    v.Int("direction", direction);
    v.Int("bits", bits);
  }
};

Status TranslateShift(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const auto& p = ParamOf<ShiftParam>(layers->line());
  if (p.bits < 0 || p.bits > 31) return Status::CorruptModel(fmt::format("expects 0 to 31 bits, found {}", p.bits));
  PLUMB_ASSIGN_OR_RETURN(const std::string bits, layers->Scalar("bits", DType::kI32, p.bits));
  layers->Add(OpKind::kPlumbBitShift, {layers->line().inputs[0], bits}, layers->line().outputs,
              ParamWith<BitShiftParam>([&](BitShiftParam* q) { q->left = p.direction != 0; }));
  return Status::Ok();
}

struct GluParam : ParamBase<GluParam> {
  int axis = -1;
  void Visit(ParamVisitor& v) override { v.Int("axis", axis); }
};

// Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017: a sigmoid(b) of the halves a and b.
Status TranslateGlu(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const int axis = ParamOf<GluParam>(layers->line()).axis;
  const std::string values = layers->Name("values"), gate = layers->Name("gate"), open = layers->Name("sigmoid");
  layers->Add(OpKind::kSplitV, layers->line().inputs, {values, gate},
              ParamWith<SplitVParam>([&](SplitVParam* q) { q->axis = axis; }));
  layers->Add(OpKind::kSigmoid, {gate}, {open});
  layers->Add(OpKind::kMul, {values, open}, layers->line().outputs);
  return Status::Ok();
}

struct HistogramParam : ParamBase<HistogramParam> {
  int depth = 0;
  void Visit(ParamVisitor& v) override { v.Int("depth", depth); }
};

// How often each of 0 .. depth - 1 occurs.
Status TranslateHistogram(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const int depth = ParamOf<HistogramParam>(layers->line()).depth;
  const std::string flat = layers->Name("flat"), hot = layers->Name("hot"), sum = layers->Name("sum");
  layers->Add(OpKind::kReshape, layers->line().inputs, {flat}, ParamWith<ReshapeParam>([](ReshapeParam* q) {
                q->shape = {-1};
                q->num_axes = -1;
              }));
  layers->Add(OpKind::kOneHot, {flat}, {hot}, ParamWith<OneHotParam>([&](OneHotParam* q) { q->depth = depth; }));
  layers->Add(OpKind::kReduceSum, {hot}, {sum}, ParamWith<ReduceParam>([](ReduceParam* q) { q->axes = {0}; }));
  layers->AddAsInt32(sum);
  return Status::Ok();
}

struct ReformatParam : ParamBase<ReformatParam> {
  int from = 0, to = 0;  // data type numbers
  void Visit(ParamVisitor& v) override {
    v.Int("src_type", from);
    v.Int("dst_type", to);
  }
};

// Between layouts and floats of other widths: the values stay.
Status TranslateReformat(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const auto& p = ParamOf<ReformatParam>(layers->line());
  constexpr int kInt8 = 2;
  if (p.from != p.to && (p.from == kInt8 || p.to == kInt8))
    return Status::NotSupported("it makes int8 of floats or floats of int8; Quantized layers do that by themselves");
  layers->Add(OpKind::kIdentity, layers->line().inputs, layers->line().outputs);
  return Status::Ok();
}

struct SignedMulParam : ParamBase<SignedMulParam> {
  float alpha = 0, beta = 0, gamma = 1;
  void Visit(ParamVisitor& v) override {
    v.Float("alpha", alpha, ParamVisitor::kRequired);
    v.Float("beta", beta, ParamVisitor::kRequired);
    v.Float("gamma", gamma, ParamVisitor::kRequired);
  }
};

// t = (sign(x - alpha) + beta) (1 / gamma), then every channel times channel 0 of t.
Status TranslateSignedMul(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const auto& p = ParamOf<SignedMulParam>(layers->line());
  if (p.gamma == 0) return Status::CorruptModel("expects a gamma other than 0");
  PLUMB_ASSIGN_OR_RETURN(const std::string alpha, layers->Scalar("alpha", DType::kF32, p.alpha));
  PLUMB_ASSIGN_OR_RETURN(const std::string beta, layers->Scalar("beta", DType::kF32, p.beta));
  PLUMB_ASSIGN_OR_RETURN(const std::string inverse, layers->Scalar("inverse", DType::kF32, 1.0f / p.gamma));
  const std::string off = layers->Name("off"), sign = layers->Name("sign"), sum = layers->Name("sum"),
                    t = layers->Name("t"), first = layers->Name("first");
  layers->Add(OpKind::kSub, {layers->line().inputs[0], alpha}, {off});
  layers->Add(OpKind::kSign, {off}, {sign});
  layers->Add(OpKind::kAdd, {sign, beta}, {sum});
  layers->Add(OpKind::kMul, {sum, inverse}, {t});
  layers->Add(OpKind::kStridedSliceV2, {t}, {first}, ParamWith<StridedSliceV2Param>([](StridedSliceV2Param* q) {
                q->begins = {0}, q->ends = {1}, q->axes = {1}, q->strides = {1};
              }));
  layers->Add(OpKind::kMul, {t, first}, layers->line().outputs);
  return Status::Ok();
}

}  // namespace

Translation BitShiftTranslation() { return {MakeParam<ShiftParam>, TranslateShift}; }
Translation GLUTranslation() { return {MakeParam<GluParam>, TranslateGlu}; }
Translation HistogramTranslation() { return {MakeParam<HistogramParam>, TranslateHistogram}; }
Translation ReformatTranslation() { return {MakeParam<ReformatParam>, TranslateReformat}; }
Translation SignedMulTranslation() { return {MakeParam<SignedMulParam>, TranslateSignedMul}; }

}  // namespace plumb::tnn
