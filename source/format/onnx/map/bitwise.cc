// SPDX-License-Identifier: Apache-2.0
// BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot: narrow integers are carried as i64, where Not sets bits that they
// lack.
#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

Status BothBitwise(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(kind, c.In(0), c.In(1)));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace

Status MapBitwiseAnd(NodeContext& c) { return BothBitwise(c, OpKind::kPlumbBitwiseAnd); }
Status MapBitwiseOr(NodeContext& c) { return BothBitwise(c, OpKind::kPlumbBitwiseOr); }
Status MapBitwiseXor(NodeContext& c) { return BothBitwise(c, OpKind::kPlumbBitwiseXor); }

Status MapBitwiseNot(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kPlumbBitwiseNot, nullptr, {c.In(0)}));
  PLUMB_ASSIGN_OR_RETURN(y, c.Wrap(y, c.In(0).type));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
