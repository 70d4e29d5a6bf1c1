// SPDX-License-Identifier: Apache-2.0
// com.microsoft's RotaryEmbedding: as ONNX's, but position_ids come first and may be one number, the first place's.
#include <fmt/core.h>

#include "format/onnx/map/attention_steps.h"
#include "format/onnx/map/rotary_steps.h"

namespace plumb::onnx {

Status MapGather(NodeContext& c);

Result<Value> RowsAt(NodeContext& c, const Value& table, const Value& places) {
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Through(MapGather, {table, places}));
  return c.Unsqueeze(rows, 1);  // the heads
}

Status MapMicrosoftRotaryEmbedding(NodeContext& c) {
  if (c.Int("is_packed_batching", 0) != 0) return Status::NotSupported("is_packed_batching is not 0");
  (void)c.Float("scale", 1);  // no runtime reads it
  if (c.Rank(2) != 2) return Status::CorruptModel("the cos cache is " + c.ShapeOf(2).ToString());
  Value x = c.In(0);
  const Shape in = c.ShapeOf(0);
  if (in.rank() == 3) {
    const int64_t given = c.Int("num_heads", 0), size = 2 * c.ShapeOf(2)[1];
    const bool partial = c.Int("rotary_embedding_dim", 0) > 0;
    if (size < 1 || (partial && given < 1)) return Status::CorruptModel("rotary_embedding_dim needs num_heads");
    PLUMB_ASSIGN_OR_RETURN(x, SplitHeads(c, x, partial ? given : in[2] / size, "the input"));
  } else if (in.rank() != 4) {
    return Status::CorruptModel(fmt::format("the input is {}, expected 3 or 4 dims", in.ToString()));
  }
  const int64_t length = c.ShapeOf(x)[2];
  Value places = c.In(1);
  if (c.ShapeOf(1).NumElements() == 1 && !(c.Rank(1) == 2 && length == 1)) {
    PLUMB_ASSIGN_OR_RETURN(const Value first, c.Reshape(places, {1, 1}));
    PLUMB_ASSIGN_OR_RETURN(const Value wide, c.CastTo(first, DType::kI64));
    PLUMB_ASSIGN_OR_RETURN(const Value each, c.Positions(Shape{1, length}, 1));
    PLUMB_ASSIGN_OR_RETURN(places, c.Binary(OpKind::kAdd, each, wide));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value cos, RowsAt(c, c.In(2), places));
  PLUMB_ASSIGN_OR_RETURN(const Value sin, RowsAt(c, c.In(3), places));
  PLUMB_ASSIGN_OR_RETURN(Value y, RotatePairs(c, x, cos, sin, c.Int("interleaved", 0) != 0));
  if (in.rank() == 3) {
    PLUMB_ASSIGN_OR_RETURN(y, JoinHeads(c, y));
  }
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
