// SPDX-License-Identifier: Apache-2.0
#include "op/bitwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace plumb {
namespace {

Status CheckDType(DType dtype, bool truth_too) {
  if (dtype == DType::kI32 || dtype == DType::kI64 || (truth_too && dtype == DType::kBool)) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "{} operands, found {}", truth_too ? "expects i32, i64 or bool" : "expects i32 or i64", DTypeName(dtype)));
}

Status InferPair(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  PLUMB_RETURN_IF_ERROR(CheckDType(dtype, context.layer.kind != OpKind::kPlumbBitShift));
  if (context.inputs[1].dtype != dtype) {
    return Status::InvalidArgument(
        fmt::format("operands have different dtypes: {} and {}", DTypeName(dtype), DTypeName(context.inputs[1].dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(context.shape(0), context.shape(1)));
  context.SetAll(dtype, out);
  return Status::Ok();
}

Status InferBitwiseNot(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(CheckDType(context.inputs[0].dtype, true));
  return InferSameAsInput(context);
}

OpDef DefineBitwise(Status (*infer)(ShapeContext&)) {
  OpDef op;
  op.infer = infer;
  return op;
}

}  // namespace

#define PLUMB_BITWISE(name, inputs, ...) \
  OpDef Define##name() { return DefineBitwise((inputs) == 1 ? InferBitwiseNot : InferPair); }
#include "op/bitwise.def"
#undef PLUMB_BITWISE

int BitwiseRow(OpKind kind) {
  const OpKind rows[] = {
#define PLUMB_BITWISE(name, ...) OpKind::k##name,
#include "op/bitwise.def"
#undef PLUMB_BITWISE
  };
  return static_cast<int>(std::find(std::begin(rows), std::end(rows), kind) - std::begin(rows));
}

OpDef DefinePlumbBitShift() {
  OpDef op = DefineBitwise(InferPair);
  op.make_param = MakeParam<BitShiftParam>;
  return op;
}

}  // namespace plumb
