// SPDX-License-Identifier: Apache-2.0
// Comparisons and logic, all of them from Equal, Greater, Less, And and Not. GreaterOrEqual is not "not Less": NaN.
#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

Status Map(NodeContext& c, OpKind kind) { return c.EmitOutput(kind, nullptr, {c.In(0), c.In(1)}); }

Result<Value> Compare(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value a, c.Ordered(c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value b, c.Ordered(c.In(1)));
  return c.Emit(kind, nullptr, {a, b});
}

Status MapOrder(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, Compare(c, kind));
  c.Set(0, y, kTypeBool);
  return Status::Ok();
}

Result<Value> Not(NodeContext& c, const Value& x) { return c.Emit(OpKind::kNot, nullptr, {x}); }
Result<Value> Both(NodeContext& c, const Value& a, const Value& b) { return c.Emit(OpKind::kAnd, nullptr, {a, b}); }

Result<Value> Either(NodeContext& c, const Value& a, const Value& b) {
  PLUMB_ASSIGN_OR_RETURN(const Value not_a, Not(c, a));
  PLUMB_ASSIGN_OR_RETURN(const Value not_b, Not(c, b));
  PLUMB_ASSIGN_OR_RETURN(const Value neither, Both(c, not_a, not_b));
  return Not(c, neither);
}

Status OrEqual(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value strict, Compare(c, kind));
  PLUMB_ASSIGN_OR_RETURN(const Value equal, c.Emit(OpKind::kEqual, nullptr, {c.In(0), c.In(1)}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Either(c, strict, equal));
  c.Set(0, y, kTypeBool);
  return Status::Ok();
}

}  // namespace

Status MapEqual(NodeContext& c) { return Map(c, OpKind::kEqual); }
Status MapGreater(NodeContext& c) { return MapOrder(c, OpKind::kGreater); }
Status MapLess(NodeContext& c) { return MapOrder(c, OpKind::kLess); }
Status MapAnd(NodeContext& c) { return Map(c, OpKind::kAnd); }
Status MapNot(NodeContext& c) { return c.EmitOutput(OpKind::kNot, nullptr, {c.In(0)}); }
Status MapGreaterOrEqual(NodeContext& c) { return OrEqual(c, OpKind::kGreater); }
Status MapLessOrEqual(NodeContext& c) { return OrEqual(c, OpKind::kLess); }

Status MapOr(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, Either(c, c.In(0), c.In(1)));
  c.Set(0, y, kTypeBool);
  return Status::Ok();
}

// not (a == b)
Status MapXor(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value equal, c.Emit(OpKind::kEqual, nullptr, {c.In(0), c.In(1)}));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Not(c, equal));
  c.Set(0, y, kTypeBool);
  return Status::Ok();
}

// ONNX: condition, x, y; TNN: x, y, condition.
Status MapWhere(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kWhere, nullptr, {c.In(1), c.In(2), c.In(0)}));
  c.Set(0, y, c.In(1).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
