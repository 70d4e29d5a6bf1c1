// SPDX-License-Identifier: Apache-2.0
// Activations with attributes; those that TNN lacks are sums and products of ones that it has.
#include "op/activation.h"

#include "format/onnx/node_context.h"
#include "op/prelu.h"

namespace plumb::onnx {

// TNN has no interpreter for LeakyRelu: its files hold a PReLU with one slope.
Status MapLeakyRelu(NodeContext& c) {
  auto param = std::make_shared<PReLUParam>();
  param->channel_shared = 1;
  PLUMB_ASSIGN_OR_RETURN(Tensor slope, Tensor::Create(DType::kF32, Shape{1}));
  slope.data<float>()[0] = c.Float("alpha", 0.01f);
  return c.EmitOutput(OpKind::kPReLU, param, {c.In(0)}, {{"slope", slope}});
}

// max(0, x) + min(0, alpha (e^(x / alpha) - 1)) = alpha Elu(x / alpha)
Status MapCelu(NodeContext& c) {
  const float alpha = c.Float("alpha", 1);
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kDiv, c.In(0), c.ConstFloat(alpha, c.DTypeOf(0))));
  PLUMB_ASSIGN_OR_RETURN(const Value elu, c.Emit(OpKind::kElu, nullptr, {scaled}));
  return c.EmitOutput(OpKind::kMul, nullptr, {elu, c.ConstFloat(alpha, c.DTypeOf(0))});
}

Status MapHardSigmoid(NodeContext& c) {
  auto param = std::make_shared<HardParam>();
  param->alpha = c.Float("alpha", 0.2f);
  param->beta = c.Float("beta", 0.5f);
  return c.EmitOutput(OpKind::kHardSigmoid, param, {c.In(0)});
}

Status MapHardSwish(NodeContext& c) {
  auto param = std::make_shared<HardParam>();
  param->alpha = 1.0f / 6;
  param->beta = 0.5f;
  return c.EmitOutput(OpKind::kHardSwish, param, {c.In(0)});
}

// x Phi(x), or with tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
Status MapGelu(NodeContext& c) {
  if (c.Text("approximate", "none") != "tanh") return c.EmitOutput(OpKind::kGELU, nullptr, {c.In(0)});
  const DType dtype = c.DTypeOf(0);
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, c.In(0), c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value cube, c.Binary(OpKind::kMul, square, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Binary(OpKind::kMul, cube, c.ConstFloat(0.044715f, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, c.In(0), part));
  PLUMB_ASSIGN_OR_RETURN(const Value inner, c.Binary(OpKind::kMul, sum, c.ConstFloat(0.79788456f, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value tanh, c.Emit(OpKind::kTanh, nullptr, {inner}));
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, c.Binary(OpKind::kAdd, tanh, c.ConstFloat(1, dtype)));
  PLUMB_ASSIGN_OR_RETURN(const Value half, c.Binary(OpKind::kMul, c.In(0), c.ConstFloat(0.5f, dtype)));
  return c.EmitOutput(OpKind::kMul, nullptr, {half, shifted});
}

// x tanh(softplus(x))
Status MapMish(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value soft, c.Emit(OpKind::kSoftplus, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value tanh, c.Emit(OpKind::kTanh, nullptr, {soft}));
  return c.EmitOutput(OpKind::kMul, nullptr, {c.In(0), tanh});
}

// x > alpha ? x : 0
Status MapThresholdedRelu(NodeContext& c) {
  const DType dtype = c.DTypeOf(0);
  PLUMB_ASSIGN_OR_RETURN(const Value above,
                         c.Emit(OpKind::kGreater, nullptr, {c.In(0), c.ConstFloat(c.Float("alpha", 1), dtype)}));
  return c.EmitOutput(OpKind::kWhere, nullptr, {c.In(0), c.ConstFloat(0, dtype), above});
}

// x < -lambd: x + bias; x > lambd: x - bias; else 0
Status MapShrink(NodeContext& c) {
  const DType dtype = c.DTypeOf(0);
  const float lambd = c.Float("lambd", 0.5f);
  const Value bias = c.ConstFloat(c.Float("bias", 0), dtype);
  PLUMB_ASSIGN_OR_RETURN(const Value below, c.Emit(OpKind::kLess, nullptr, {c.In(0), c.ConstFloat(-lambd, dtype)}));
  PLUMB_ASSIGN_OR_RETURN(const Value above, c.Emit(OpKind::kGreater, nullptr, {c.In(0), c.ConstFloat(lambd, dtype)}));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, c.In(0), bias));
  PLUMB_ASSIGN_OR_RETURN(const Value difference, c.Binary(OpKind::kSub, c.In(0), bias));
  PLUMB_ASSIGN_OR_RETURN(const Value upper,
                         c.Emit(OpKind::kWhere, nullptr, {difference, c.ConstFloat(0, dtype), above}));
  return c.EmitOutput(OpKind::kWhere, nullptr, {sum, upper, below});
}

// A slope per channel, or one for all, is a PReLU; any other broadcasts: x < 0 ? slope * x : x.
Status MapPRelu(NodeContext& c) {
  const Tensor* slope = c.Known(1);
  const Shape& x = c.ShapeOf(0);
  const Shape& s = c.ShapeOf(1);
  const bool one = s.NumElements() == 1;
  // A plain list of slopes is per channel in old files (opset 6), and where it does not broadcast.
  const bool list = s.rank() == 1 && !BroadcastShapes(x, s).ok();
  const bool per_channel =
      x.rank() >= 2 && s.NumElements() == x[1] && s[0] == x[1] && (list || s.rank() == x.rank() - 1);
  if (slope != nullptr && IsFloat(slope->dtype()) && s.rank() <= x.rank() && (one || per_channel)) {
    auto param = std::make_shared<PReLUParam>();
    param->channel_shared = one ? 1 : 0;
    PLUMB_ASSIGN_OR_RETURN(const Tensor flat, slope->Reshaped(Shape{s.NumElements()}));
    PLUMB_ASSIGN_OR_RETURN(const Tensor single, flat.ConvertedTo(DType::kF32));
    return c.EmitOutput(OpKind::kPReLU, param, {c.In(0)}, {{"slope", single}});
  }
  const DType dtype = c.DTypeOf(0);
  PLUMB_ASSIGN_OR_RETURN(const Value product, c.Binary(OpKind::kMul, c.In(0), c.In(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value negative, c.Emit(OpKind::kLess, nullptr, {c.In(0), c.ConstFloat(0, dtype)}));
  return c.EmitOutput(OpKind::kWhere, nullptr, {product, c.In(0), negative});
}

// x sigmoid(alpha x)
Status MapSwish(NodeContext& c) {
  const float alpha = c.Float("alpha", 1);
  if (alpha == 1) return c.EmitOutput(OpKind::kSwish, nullptr, {c.In(0)});
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, c.In(0), c.ConstFloat(alpha, c.DTypeOf(0))));
  PLUMB_ASSIGN_OR_RETURN(const Value gate, c.Emit(OpKind::kSigmoid, nullptr, {scaled}));
  return c.EmitOutput(OpKind::kMul, nullptr, {c.In(0), gate});
}

}  // namespace plumb::onnx
