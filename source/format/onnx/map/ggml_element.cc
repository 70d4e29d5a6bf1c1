// SPDX-License-Identifier: Apache-2.0
// Element by element.
#include "format/onnx/map/ggml_steps.h"
#include "op/activation.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

Status GgmlElementwise(NodeContext& c, OpKind kind, std::shared_ptr<OpParam> param = nullptr) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(kind, std::move(param), {c.In(0)}));
  return SetGgml(c, y);
}

// The second one is repeated over the first.
Status GgmlOfTwo(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value a, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value given, FourDims(c, c.In(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value b, RepeatedLike(c, given, c.ShapeOf(a).dims()));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(kind, a, b));
  return SetGgml(c, y);
}

// min(max((x + 3) / 6, 0), 1)
Result<Value> GgmlHardGate(NodeContext& c, const Value& x) {
  PLUMB_ASSIGN_OR_RETURN(const Value moved, c.Binary(OpKind::kAdd, x, c.ConstFloat(3)));
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Binary(OpKind::kDiv, moved, c.ConstFloat(6)));
  auto param = std::make_shared<ClipParam>();
  param->max = 1;
  return c.Emit(OpKind::kClip, param, {part});
}

Result<Value> GgmlIsPositive(NodeContext& c, const Value& x) {
  return c.Emit(OpKind::kGreater, nullptr, {x, c.ConstFloat(0)});
}

}  // namespace

Status MapGgmlADD(NodeContext& c) { return GgmlOfTwo(c, OpKind::kAdd); }
Status MapGgmlSUB(NodeContext& c) { return GgmlOfTwo(c, OpKind::kSub); }
Status MapGgmlMUL(NodeContext& c) { return GgmlOfTwo(c, OpKind::kMul); }
Status MapGgmlDIV(NodeContext& c) { return GgmlOfTwo(c, OpKind::kDiv); }

Status MapGgmlADD1(NodeContext& c) { return GgmlOfTwo(c, OpKind::kAdd); }

// scale x + bias
Status MapGgmlSCALE(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Binary(OpKind::kMul, c.In(0), c.ConstFloat(GgmlFloat(c, 0))));
  if (GgmlFloat(c, 1) != 0) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, c.ConstFloat(GgmlFloat(c, 1))));
  }
  return SetGgml(c, y);
}

Status MapGgmlCLAMP(NodeContext& c) {
  auto param = std::make_shared<ClipParam>();
  param->min = GgmlFloat(c, 0);
  param->max = GgmlFloat(c, 1);
  return GgmlElementwise(c, OpKind::kClip, param);
}

Status MapGgmlSQR(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, c.In(0), c.In(0)));
  return SetGgml(c, y);
}

Status MapGgmlSQRT(NodeContext& c) { return GgmlElementwise(c, OpKind::kSqrt); }
Status MapGgmlLOG(NodeContext& c) { return GgmlElementwise(c, OpKind::kLog); }
Status MapGgmlSIN(NodeContext& c) { return GgmlElementwise(c, OpKind::kSin); }
Status MapGgmlCOS(NodeContext& c) { return GgmlElementwise(c, OpKind::kCos); }
Status MapGgmlABS(NodeContext& c) { return GgmlElementwise(c, OpKind::kAbs); }
Status MapGgmlNEG(NodeContext& c) { return GgmlElementwise(c, OpKind::kNeg); }
Status MapGgmlEXP(NodeContext& c) { return GgmlElementwise(c, OpKind::kExp); }
Status MapGgmlTANH(NodeContext& c) { return GgmlElementwise(c, OpKind::kTanh); }
Status MapGgmlRELU(NodeContext& c) { return GgmlElementwise(c, OpKind::kReLU); }
Status MapGgmlSIGMOID(NodeContext& c) { return GgmlElementwise(c, OpKind::kSigmoid); }

Status MapGgmlSOFTPLUS(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlSoftplus(c, c.In(0)));
  return SetGgml(c, y);
}

Status MapGgmlSGN(NodeContext& c) { return GgmlElementwise(c, OpKind::kSign); }
Status MapGgmlFLOOR(NodeContext& c) { return GgmlElementwise(c, OpKind::kFloor); }
Status MapGgmlCEIL(NodeContext& c) { return GgmlElementwise(c, OpKind::kCeil); }
Status MapGgmlELU(NodeContext& c) { return GgmlElementwise(c, OpKind::kElu); }

Status MapGgmlLEAKY_RELU(NodeContext& c) {
  auto param = std::make_shared<LeakyReluParam>();
  param->slope = GgmlFloat(c, 0);
  return GgmlElementwise(c, OpKind::kLeakyRelu, param);
}

Status MapGgmlSTEP(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value positive, GgmlIsPositive(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Select(positive, c.ConstFloat(1), c.ConstFloat(0)));
  return SetGgml(c, y);
}

Status MapGgmlTRUNC(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value positive, GgmlIsPositive(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value below, c.Emit(OpKind::kFloor, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value above, c.Emit(OpKind::kCeil, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Select(positive, below, above));
  return SetGgml(c, y);
}

// A half goes away from zero: floor(|x| + 0.5) with x's sign.
Status MapGgmlROUND(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value size, c.Emit(OpKind::kAbs, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kAdd, size, c.ConstFloat(0.5f)));
  PLUMB_ASSIGN_OR_RETURN(const Value whole, c.Emit(OpKind::kFloor, nullptr, {more}));
  PLUMB_ASSIGN_OR_RETURN(const Value sign, c.Emit(OpKind::kSign, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, whole, sign));
  return SetGgml(c, y);
}

Status MapGgmlHARDSIGMOID(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlHardGate(c, c.In(0)));
  return SetGgml(c, y);
}

Status MapGgmlHARDSWISH(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value gate, GgmlHardGate(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, c.In(0), gate));
  return SetGgml(c, y);
}

// ggml subtracts 1 from the rounded power, so small x lose what expm1 keeps.
Status MapGgmlEXPM1(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value power, c.Emit(OpKind::kExp, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kSub, power, c.ConstFloat(1)));
  return SetGgml(c, y);
}

// beta x + p x^2 where x > 0, else beta x + n (expm1(min(x, eps)) - x); op_params hold n, p, beta, eps behind the kind.
Status MapGgmlXIELU(NodeContext& c) {
  const Value n = c.ConstFloat(GgmlFloat(c, 1)), p = c.ConstFloat(GgmlFloat(c, 2));
  const Value beta = c.ConstFloat(GgmlFloat(c, 3)), eps = c.ConstFloat(GgmlFloat(c, 4));
  const Value& x = c.In(0);
  PLUMB_ASSIGN_OR_RETURN(const Value line, c.Binary(OpKind::kMul, x, beta));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, x, p));
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, scaled, x));
  PLUMB_ASSIGN_OR_RETURN(const Value least, c.Binary(OpKind::kMinimum, x, eps));
  PLUMB_ASSIGN_OR_RETURN(const Value power, c.Emit(OpKind::kElu, nullptr, {least}));  // expm1 below 0
  PLUMB_ASSIGN_OR_RETURN(const Value less, c.Binary(OpKind::kSub, power, x));
  PLUMB_ASSIGN_OR_RETURN(const Value curve, c.Binary(OpKind::kMul, less, n));
  PLUMB_ASSIGN_OR_RETURN(const Value positive, GgmlIsPositive(c, x));
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Select(positive, square, curve));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kAdd, part, line));
  return SetGgml(c, y);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
