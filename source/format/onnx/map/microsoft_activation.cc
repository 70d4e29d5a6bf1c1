// SPDX-License-Identifier: Apache-2.0
// com.microsoft's GELUs: Gelu and BiasGelu are x Phi(x), FastGelu the form with tanh, QuickGelu x sigmoid(alpha x). A
// bias is added to x first.
#include "format/onnx/node_context.h"

namespace plumb::onnx {

Status MapGelu(NodeContext& c);

namespace {

Result<Value> WithBias(NodeContext& c) {
  return c.Has(1) ? c.Binary(OpKind::kAdd, c.In(0), c.In(1)) : Result<Value>(c.In(0));
}

}  // namespace

Status MapMicrosoftGelu(NodeContext& c) { return MapGelu(c); }

Status MapMicrosoftBiasGelu(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, WithBias(c));
  return c.EmitOutput(OpKind::kGELU, nullptr, {x});
}

// 0.5 x (1 + tanh(x (0.7978846 + 0.03567741 x^2)))
Status MapMicrosoftFastGelu(NodeContext& c) {
  const DType dtype = c.DTypeOf(0);
  PLUMB_ASSIGN_OR_RETURN(const Value x, WithBias(c));
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, x, x));
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Binary(OpKind::kMul, square, c.ConstFloat(0.035677408136f, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, part, c.ConstFloat(0.79788456f, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value inner, c.Binary(OpKind::kMul, x, sum));
  PLUMB_ASSIGN_OR_RETURN(const Value tanh, c.Emit(OpKind::kTanh, nullptr, {inner}));
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, c.Binary(OpKind::kAdd, tanh, c.ConstFloat(1, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value half, c.Binary(OpKind::kMul, x, c.ConstFloat(0.5f, dtype)));
  return c.EmitOutput(OpKind::kMul, nullptr, {half, shifted});
}

Status MapMicrosoftQuickGelu(NodeContext& c) {
  const float alpha = c.Float("alpha", 1.702f);
  if (alpha == 1) return c.EmitOutput(OpKind::kSwish, nullptr, {c.In(0)});
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, c.In(0), c.ConstFloat(alpha, c.DTypeOf(0))));
  PLUMB_ASSIGN_OR_RETURN(const Value gate, c.Emit(OpKind::kSigmoid, nullptr, {scaled}));
  return c.EmitOutput(OpKind::kMul, nullptr, {c.In(0), gate});
}

}  // namespace plumb::onnx
