// SPDX-License-Identifier: Apache-2.0
#include "op/activation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace plumb {
namespace {

// The column of op/unary.def.
enum class Zero { keeps, moves, may_move };

template <class T>
int64_t WholeLimit(float limit) {
  using Limits = std::numeric_limits<T>;
  const double value = std::isnan(limit) ? 0.0 : std::trunc(static_cast<double>(limit));
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<int64_t>(value);
}

Status InferHardSwish(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  if (context.inputs.size() < 2) return Status::Ok();
  if (context.inputs[1].dtype != context.inputs[0].dtype) {
    return Status::InvalidArgument(fmt::format("inputs have different dtypes: {} and {}",
                                               DTypeName(context.inputs[0].dtype), DTypeName(context.inputs[1].dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(context.shape(0), context.shape(1)));
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

template <class P>
OpDef DefineActivation(Status (*infer)(ShapeContext&) = InferUnary) {
  OpDef op;
  op.make_param = MakeParam<P>;
  op.infer = infer;
  return op;
}

}  // namespace

OpDef DefineLeakyRelu() { return DefineActivation<LeakyReluParam>(); }
OpDef DefineElu() { return DefineActivation<EluParam>(); }
OpDef DefineSelu() { return DefineActivation<SeluParam>(); }
OpDef DefineHardSigmoid() { return DefineActivation<HardParam>(); }
OpDef DefineHardSwish() { return DefineActivation<HardParam>(InferHardSwish); }
OpDef DefineClip() { return DefineActivation<ClipParam>(); }
OpDef DefinePower() { return DefineActivation<PowerParam>(); }
OpDef DefinePlumbCelu() { return DefineActivation<CeluParam>(); }
OpDef DefinePlumbThresholdedRelu() { return DefineActivation<ThresholdedReluParam>(); }
OpDef DefinePlumbShrink() { return DefineActivation<ShrinkParam>(); }

Status InferUnary(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  const bool whole = dtype == DType::kI32 || dtype == DType::kI64;
  return whole && UnaryIntRow(context.layer.kind) ? InferSameAsInput(context) : InferFloatSameAsInput(context);
}

UnaryCoefficients CoefficientsOf(const Layer& layer) {
  switch (layer.kind) {
    case OpKind::kLeakyRelu: return {ParamOf<LeakyReluParam>(layer).slope};
    case OpKind::kElu: return {ParamOf<EluParam>(layer).alpha};
    case OpKind::kSelu: return {ParamOf<SeluParam>(layer).alpha, 0, ParamOf<SeluParam>(layer).gamma};
    case OpKind::kHardSigmoid:
    case OpKind::kHardSwish: return {ParamOf<HardParam>(layer).alpha, ParamOf<HardParam>(layer).beta};
    case OpKind::kClip: return {ParamOf<ClipParam>(layer).min, ParamOf<ClipParam>(layer).max};
    case OpKind::kPower: {
      const auto& p = ParamOf<PowerParam>(layer);
      return {p.scale, p.shift, p.exponent};
    }
    case OpKind::kPlumbCelu: return {ParamOf<CeluParam>(layer).alpha};
    case OpKind::kPlumbThresholdedRelu: return {ParamOf<ThresholdedReluParam>(layer).alpha};
    case OpKind::kPlumbShrink: return {ParamOf<ShrinkParam>(layer).lambda, ParamOf<ShrinkParam>(layer).bias};
    default: return {};
  }
}

bool UnaryKeepsZero(const Layer& layer) {
  const UnaryCoefficients c = CoefficientsOf(layer);
  if (layer.kind == OpKind::kClip) return c.a <= 0 && c.b >= 0;
  if (layer.kind == OpKind::kPlumbShrink) return c.a >= 0;
  switch (layer.kind) {
#define PLUMB_UNARY(name, file, max_inputs, zero, ...) \
  case OpKind::k##name:                                \
    return Zero::zero == Zero::keeps;
#include "op/unary.def"
#undef PLUMB_UNARY
    default: return false;
  }
}

std::optional<int> UnaryIntRow(OpKind kind) {
  const OpKind rows[] = {
#define PLUMB_UNARY_INT(name, ...) OpKind::k##name,
#include "op/unary_int.def"
#undef PLUMB_UNARY_INT
  };
  const auto* row = std::find(std::begin(rows), std::end(rows), kind);
  if (row == std::end(rows)) return std::nullopt;
  return static_cast<int>(row - std::begin(rows));
}

WholeLimits WholeLimitsOf(const Layer& layer, DType dtype) {
  if (layer.kind != OpKind::kClip) return {};
  const auto& clip = ParamOf<ClipParam>(layer);
  if (dtype == DType::kI32) return {WholeLimit<int32_t>(clip.min), WholeLimit<int32_t>(clip.max)};
  return {WholeLimit<int64_t>(clip.min), WholeLimit<int64_t>(clip.max)};
}

}  // namespace plumb
