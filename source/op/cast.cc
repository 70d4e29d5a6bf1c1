// SPDX-License-Identifier: Apache-2.0
#include "op/cast.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

constexpr DType kTnnDataTypes[] = {DType::kF32,  DType::kF16, DType::kI8, DType::kI32,
                                   DType::kBF16, DType::kI64, DType::kU32};

Status InferCast(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const DType to, CastTarget(context.layer));
  context.SetAll(to, context.shape(0));
  if (HasHostValue(context.inputs[0]) && !IsFloat(to)) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, context.inputs[0].value.ConvertedTo(to));
  }
  return Status::Ok();
}

template <class Param>
OpDef DefineOfCast() {
  OpDef op;
  op.make_param = MakeParam<Param>;
  op.infer = InferCast;
  return op;
}

}  // namespace

Result<DType> CastTarget(const Layer& layer) {
  if (layer.kind == OpKind::kCast) {
    const int to = ParamOf<CastParam>(layer).to;
    if (to >= 0 && to < static_cast<int>(sizeof(kTnnDataTypes) / sizeof(kTnnDataTypes[0]))) return kTnnDataTypes[to];
    return Status::InvalidArgument(
        fmt::format("data type number {} is none of 0 .. 6 (f32, f16, i8, i32, bf16, i64, u32)", to));
  }
  const std::string& to = ParamOf<PlumbCastParam>(layer).to;
  if (const auto dtype = ParseDType(to)) return *dtype;
  return Status::InvalidArgument(
      fmt::format("'{}' is no dtype; f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64 and bool are", to));
}

OpDef DefineCast() { return DefineOfCast<CastParam>(); }
OpDef DefinePlumbCast() { return DefineOfCast<PlumbCastParam>(); }

}  // namespace plumb
