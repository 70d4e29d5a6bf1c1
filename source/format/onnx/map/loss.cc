// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: -w[t] x[n, t, ...] of each target t, then none, sum or (weighted)
// mean.
#include "format/onnx/node_context.h"

#include <algorithm>
#include "op/gather.h"
#include "op/reduce.h"
#include "op/softmax.h"
#include "op/squeeze.h"

namespace plumb::onnx {
namespace {

Result<Value> Total(NodeContext& c, OpKind kind, const Value& x) {
  return c.Emit(kind, std::make_shared<ReduceParam>(), {x});
}

Result<Value> Zero(NodeContext& c, DType dtype) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero, Tensor::Zeros(dtype, Shape{}));
  return c.Const(zero);
}

struct Targets {
  Value index;    // i64, in range
  Value ignored;  // bool, or absent
};

Result<Targets> TakeTargets(NodeContext& c) {
  Targets t;
  PLUMB_ASSIGN_OR_RETURN(t.index, c.CastTo(c.In(1), DType::kI64));
  if (!c.HasAttribute("ignore_index")) return t;
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor({c.Int("ignore_index", 0)}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, list.Reshaped(Shape{}));
  PLUMB_ASSIGN_OR_RETURN(t.ignored, c.Emit(OpKind::kEqual, nullptr, {t.index, c.Const(scalar)}));
  PLUMB_ASSIGN_OR_RETURN(const Value zero, Zero(c, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(t.index, c.Select(t.ignored, zero, t.index));
  return t;
}

// One weight per target, 0 where it is ignored; absent when all are 1.
Result<Value> WeightsOfLoss(NodeContext& c, const Targets& t, DType dtype) {
  Value weights;
  if (c.Has(2)) {
    auto param = std::make_shared<GatherParam>();
    param->indices_in_resource = false;
    PLUMB_ASSIGN_OR_RETURN(weights, c.Emit(OpKind::kGather, param, {c.In(2), t.index}));
  }
  if (!t.ignored.present()) return weights;
  PLUMB_ASSIGN_OR_RETURN(const Value zero, Zero(c, dtype));
  if (!weights.present()) {  // as many ones as there are targets
    PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kF32, c.ShapeOf(t.index)));
    PLUMB_ASSIGN_OR_RETURN(Tensor ones, Tensor::Create(DType::kF32, c.ShapeOf(t.index)));
    std::fill_n(ones.data<float>(), ones.NumElements(), 1.0f);
    PLUMB_ASSIGN_OR_RETURN(ones, ones.ConvertedTo(dtype));
    weights = c.Const(ones);
  }
  return c.Select(t.ignored, zero, weights);
}

Status SetLoss(NodeContext& c, const Value& log_probability) {
  const DType dtype = c.builder().Info(log_probability).dtype;
  PLUMB_ASSIGN_OR_RETURN(const Targets t, TakeTargets(c));
  PLUMB_ASSIGN_OR_RETURN(const Value column, c.Unsqueeze(t.index, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value picked, c.TakeElements(log_probability, column, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(picked, c.ShapeOf(t.index).dims()));
  PLUMB_ASSIGN_OR_RETURN(Value loss, c.Emit(OpKind::kNeg, nullptr, {flat}));
  PLUMB_ASSIGN_OR_RETURN(const Value weights, WeightsOfLoss(c, t, dtype));
  if (weights.present()) {
    PLUMB_ASSIGN_OR_RETURN(loss, c.Binary(OpKind::kMul, loss, weights));
  }
  const std::string reduction = c.Text("reduction", "mean");
  if (reduction == "mean" && !weights.present()) {
    PLUMB_ASSIGN_OR_RETURN(loss, Total(c, OpKind::kReduceMean, loss));
  } else if (reduction != "none") {
    PLUMB_ASSIGN_OR_RETURN(loss, Total(c, OpKind::kReduceSum, loss));
    if (reduction == "mean") {
      PLUMB_ASSIGN_OR_RETURN(const Value sum, Total(c, OpKind::kReduceSum, weights));
      PLUMB_ASSIGN_OR_RETURN(loss, c.Binary(OpKind::kDiv, loss, sum));
    }
  }
  c.Set(0, loss);
  return Status::Ok();
}

}  // namespace

Status MapNegativeLogLikelihoodLoss(NodeContext& c) { return SetLoss(c, c.In(0)); }

Status MapSoftmaxCrossEntropyLoss(NodeContext& c) {
  auto param = std::make_shared<SoftmaxParam>();
  PLUMB_ASSIGN_OR_RETURN(const Value log_probability, c.Emit(OpKind::kLogSoftmax, param, {c.In(0)}));
  if (c.Wants(1)) c.Set(1, log_probability);
  return SetLoss(c, log_probability);
}

}  // namespace plumb::onnx
