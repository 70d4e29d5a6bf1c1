// SPDX-License-Identifier: Apache-2.0
// Activations that gate, alone and times a second half (GLU). ggml's CPU backend looks GELU up in tables of 16 bits: of
// the rounded argument the rounded value.
#include <fmt/core.h>

#include "format/onnx/map/ggml_steps.h"
#include "op/activation.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names

namespace {

enum class GgmlGate { kRelu, kSilu, kGelu, kGeluErf, kGeluQuick };

Result<Value> GgmlTanhGelu(NodeContext& c, const Value& x) {
  PLUMB_ASSIGN_OR_RETURN(const Value square, c.Binary(OpKind::kMul, x, x));
  PLUMB_ASSIGN_OR_RETURN(const Value cube, c.Binary(OpKind::kMul, square, x));
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Binary(OpKind::kMul, cube, c.ConstFloat(0.044715f)));
  PLUMB_ASSIGN_OR_RETURN(const Value sum, c.Binary(OpKind::kAdd, x, part));
  PLUMB_ASSIGN_OR_RETURN(const Value inner, c.Binary(OpKind::kMul, sum, c.ConstFloat(0.79788456f)));
  PLUMB_ASSIGN_OR_RETURN(const Value tanh, c.Emit(OpKind::kTanh, nullptr, {inner}));
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, c.Binary(OpKind::kAdd, tanh, c.ConstFloat(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value half, c.Binary(OpKind::kMul, x, c.ConstFloat(0.5f)));
  return c.Binary(OpKind::kMul, half, shifted);
}

Result<Value> GgmlQuickGelu(NodeContext& c, const Value& x) {
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, x, c.ConstFloat(1.702f)));
  PLUMB_ASSIGN_OR_RETURN(const Value gate, c.Emit(OpKind::kSigmoid, nullptr, {scaled}));
  return c.Binary(OpKind::kMul, x, gate);
}

// From 10 on, either way, the table is not asked.
Result<Value> TabledGelu(NodeContext& c, const Value& x) {
  constexpr float kEnd = 10;
  PLUMB_ASSIGN_OR_RETURN(const Value rounded, RoundedTo(c, x, "f16"));
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlTanhGelu(c, rounded));
  PLUMB_ASSIGN_OR_RETURN(const Value stored, RoundedTo(c, y, "f16"));
  PLUMB_ASSIGN_OR_RETURN(const Value large, c.Emit(OpKind::kPlumbGreaterOrEqual, nullptr, {x, c.ConstFloat(kEnd)}));
  PLUMB_ASSIGN_OR_RETURN(const Value small, c.Emit(OpKind::kPlumbLessOrEqual, nullptr, {x, c.ConstFloat(-kEnd)}));
  PLUMB_ASSIGN_OR_RETURN(const Value right, c.Select(large, x, stored));
  return c.Select(small, c.ConstFloat(0), right);
}

Result<Value> GgmlGated(NodeContext& c, GgmlGate gate, const Value& x) {
  const bool table = OnGgmlCpu(c);
  switch (gate) {
    case GgmlGate::kRelu: return c.Emit(OpKind::kReLU, nullptr, {x});
    case GgmlGate::kSilu: return c.Emit(OpKind::kSwish, nullptr, {x});
    case GgmlGate::kGeluErf: return c.Emit(OpKind::kGELU, nullptr, {x});
    case GgmlGate::kGelu: return table ? TabledGelu(c, x) : GgmlTanhGelu(c, x);
    case GgmlGate::kGeluQuick: break;
  }
  if (!table) return GgmlQuickGelu(c, x);
  PLUMB_ASSIGN_OR_RETURN(const Value rounded, RoundedTo(c, x, "f16"));
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlQuickGelu(c, rounded));
  return RoundedTo(c, y, "f16");
}

Status GgmlAlone(NodeContext& c, GgmlGate gate) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, GgmlGated(c, gate, c.In(0)));
  return SetGgml(c, y);
}

// The gate's argument and what it is multiplied with: two tensors, or the halves of each row.
struct GgmlHalves {
  Value x, other;
};

Result<GgmlHalves> TakeHalves(NodeContext& c) {
  GgmlHalves halves;
  PLUMB_ASSIGN_OR_RETURN(halves.x, FourDims(c, c.In(0)));
  if (c.Has(1)) {
    PLUMB_ASSIGN_OR_RETURN(halves.other, FourDims(c, c.In(1)));
    return halves;
  }
  const int64_t row = c.ShapeOf(halves.x)[3], half = row / 2;
  if (row % 2 != 0) return Status::CorruptModel(fmt::format("rows of {} values have no halves", row));
  const bool swapped = GgmlInt(c, 1) != 0;
  PLUMB_ASSIGN_OR_RETURN(const Value first, c.Cut(halves.x, 3, 0, half));
  PLUMB_ASSIGN_OR_RETURN(const Value second, c.Cut(halves.x, 3, half, row));
  halves.x = swapped ? second : first;
  halves.other = swapped ? first : second;
  return halves;
}

Status GgmlWithHalf(NodeContext& c, GgmlGate gate) {
  PLUMB_ASSIGN_OR_RETURN(const GgmlHalves halves, TakeHalves(c));
  PLUMB_ASSIGN_OR_RETURN(const Value gated, GgmlGated(c, gate, halves.x));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, gated, halves.other));
  return SetGgml(c, y);
}

// The argument at most the limit, the other half within it: op_params' fourth number.
Result<GgmlHalves> TakeLimitedHalves(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(GgmlHalves halves, TakeHalves(c));
  const float limit = GgmlFloat(c, 3);
  PLUMB_ASSIGN_OR_RETURN(halves.x, c.Binary(OpKind::kMinimum, halves.x, c.ConstFloat(limit)));
  auto clip = std::make_shared<ClipParam>();
  clip->min = -limit;
  clip->max = limit;
  PLUMB_ASSIGN_OR_RETURN(halves.other, c.Emit(OpKind::kClip, clip, {halves.other}));
  return halves;
}

}  // namespace

Status MapGgmlSILU(NodeContext& c) { return GgmlAlone(c, GgmlGate::kSilu); }
Status MapGgmlGELU(NodeContext& c) { return GgmlAlone(c, GgmlGate::kGelu); }
Status MapGgmlGELU_ERF(NodeContext& c) { return GgmlAlone(c, GgmlGate::kGeluErf); }
Status MapGgmlGELU_QUICK(NodeContext& c) { return GgmlAlone(c, GgmlGate::kGeluQuick); }
Status MapGgmlREGLU(NodeContext& c) { return GgmlWithHalf(c, GgmlGate::kRelu); }
Status MapGgmlSWIGLU(NodeContext& c) { return GgmlWithHalf(c, GgmlGate::kSilu); }
Status MapGgmlGEGLU(NodeContext& c) { return GgmlWithHalf(c, GgmlGate::kGelu); }
Status MapGgmlGEGLU_ERF(NodeContext& c) { return GgmlWithHalf(c, GgmlGate::kGeluErf); }
Status MapGgmlGEGLU_QUICK(NodeContext& c) { return GgmlWithHalf(c, GgmlGate::kGeluQuick); }

Status MapGgmlSWIGLU_CLAMP(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const GgmlHalves halves, TakeLimitedHalves(c));
  PLUMB_ASSIGN_OR_RETURN(const Value gated, GgmlGated(c, GgmlGate::kSilu, halves.x));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, gated, halves.other));
  return SetGgml(c, y);
}

// x sigmoid(alpha x) (other + 1)
Status MapGgmlSWIGLU_OAI(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const GgmlHalves halves, TakeLimitedHalves(c));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, halves.x, c.ConstFloat(GgmlFloat(c, 2))));
  PLUMB_ASSIGN_OR_RETURN(const Value gate, c.Emit(OpKind::kSigmoid, nullptr, {scaled}));
  PLUMB_ASSIGN_OR_RETURN(const Value gated, c.Binary(OpKind::kMul, halves.x, gate));
  PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kAdd, halves.other, c.ConstFloat(1)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(OpKind::kMul, gated, more));
  return SetGgml(c, y);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
