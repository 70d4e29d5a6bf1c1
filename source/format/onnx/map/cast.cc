// SPDX-License-Identifier: Apache-2.0
// Cast, CastLike. Narrow integers and half floats are carried wider: casting to them rounds or wraps in the narrow type
// and widens again.
#include "format/onnx/node_context.h"
#include "op/round_float.h"

namespace plumb::onnx {
namespace {

constexpr float kTwoTo63 = 0x1p63f, kTwoTo64 = 0x1p64f;

// A uint64 as a float: what is carried as a negative i64 is 2^64 more.
Result<Value> FromUint64(NodeContext& c, const Value& x, DType wide) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.CastTo(x, wide));
  PLUMB_ASSIGN_OR_RETURN(const Value negative, c.Emit(OpKind::kLess, nullptr, {y, c.ConstFloat(0, wide)}));
  PLUMB_ASSIGN_OR_RETURN(const Value more, c.Emit(OpKind::kAdd, nullptr, {y, c.ConstFloat(kTwoTo64, wide)}));
  return c.Select(negative, more, y);
}

Result<Value> ToUint64(NodeContext& c, const Value& x, DType wide) {
  PLUMB_ASSIGN_OR_RETURN(const Value below, c.Emit(OpKind::kLess, nullptr, {x, c.ConstFloat(kTwoTo63, wide)}));
  PLUMB_ASSIGN_OR_RETURN(const Value less, c.Emit(OpKind::kSub, nullptr, {x, c.ConstFloat(kTwoTo64, wide)}));
  PLUMB_ASSIGN_OR_RETURN(const Value low, c.CastTo(x, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value high, c.CastTo(less, DType::kI64));
  return c.Select(below, low, high);
}

Result<Value> CastToTiny(NodeContext& c, const Value& x, const TinyType& tiny) {
  if (tiny.integer != nullptr) return c.Wrap(x, tiny.type);
  auto param = std::make_shared<RoundFloatParam>();
  param->format = tiny.small_float->name;
  param->saturate = c.Int("saturate", 1) != 0;
  PLUMB_ASSIGN_OR_RETURN(const Value single, c.CastTo(x, DType::kF32));
  return c.Emit(OpKind::kPlumbRoundFloat, param, {single});
}

Status CastToType(NodeContext& c, int type) {
  PLUMB_ASSIGN_OR_RETURN(const DType stored, StoredDType(type));
  PLUMB_ASSIGN_OR_RETURN(const DType carried, CarriedDType(type));
  Value y = c.In(0);
  const int from = y.type;
  if (from == kTypeUint64 && IsFloat(carried)) {
    PLUMB_ASSIGN_OR_RETURN(y, FromUint64(c, y, carried));
  } else if (type == kTypeUint64 && IsFloat(c.DTypeOf(0))) {
    PLUMB_ASSIGN_OR_RETURN(y, ToUint64(c, y, c.DTypeOf(0)));
  }
  if (const TinyType* tiny = FindTiny(type); tiny != nullptr && from != type) {
    PLUMB_ASSIGN_OR_RETURN(y, CastToTiny(c, y, *tiny));
  } else if (from != type) {
    PLUMB_ASSIGN_OR_RETURN(y, c.CastTo(y, stored));
    PLUMB_ASSIGN_OR_RETURN(y, c.CastTo(y, carried));
  }
  c.Set(0, y, type);
  return Status::Ok();
}

}  // namespace

Status MapCast(NodeContext& c) { return CastToType(c, static_cast<int>(c.Int("to", 0))); }
Status MapCastLike(NodeContext& c) { return CastToType(c, c.In(1).type); }

}  // namespace plumb::onnx
