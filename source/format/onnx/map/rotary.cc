// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding: the first rotary_embedding_dim entries of each head are pairs (x, y), turned by an angle per place:
// (cos x - sin y, sin x + cos y). The pairs stand side by side (interleaved) or one half behind the other.
#include <fmt/core.h>

#include "format/onnx/map/rotary_steps.h"
#include "op/gather.h"

namespace plumb::onnx {
namespace {

// cos or sin for each place, with a dim of 1 for the heads. With position_ids they are rows of a table.
Result<Value> Angles(NodeContext& c, size_t input, int heads_axis) {
  Value table = c.In(input);
  if (c.Has(3)) {
    auto param = std::make_shared<GatherParam>();
    param->indices_in_resource = false;
    PLUMB_ASSIGN_OR_RETURN(table, c.Emit(OpKind::kGather, param, {table, c.In(3)}));
  }
  if (c.ShapeOf(table).rank() != 3) {
    return Status::CorruptModel(fmt::format("input {} gives angles of shape {}", input, c.ShapeOf(table).ToString()));
  }
  return c.Unsqueeze(table, heads_axis);
}

struct Pairs {
  Value x, y;
};

Result<Pairs> SplitPairs(NodeContext& c, const Value& turned, bool interleaved) {
  Pairs pairs;
  std::vector<int64_t> dims = c.ShapeOf(turned).dims();
  const int64_t half = dims.back() / 2;
  if (!interleaved) {
    PLUMB_ASSIGN_OR_RETURN(pairs.x, c.Cut(turned, 3, 0, half));
    PLUMB_ASSIGN_OR_RETURN(pairs.y, c.Cut(turned, 3, half, 2 * half));
    return pairs;
  }
  dims.back() = half;
  dims.push_back(2);
  PLUMB_ASSIGN_OR_RETURN(const Value by_two, c.Reshape(turned, dims));
  PLUMB_ASSIGN_OR_RETURN(pairs.x, c.Cut(by_two, 4, 0, 1, true));
  PLUMB_ASSIGN_OR_RETURN(pairs.y, c.Cut(by_two, 4, 1, 2, true));
  return pairs;
}

Result<Value> JoinPairs(NodeContext& c, const Pairs& pairs, bool interleaved) {
  if (!interleaved) return c.Join({pairs.x, pairs.y}, 3);
  PLUMB_ASSIGN_OR_RETURN(const Value x, c.Unsqueeze(pairs.x, 4));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Unsqueeze(pairs.y, 4));
  PLUMB_ASSIGN_OR_RETURN(const Value by_two, c.Join({x, y}, 4));
  std::vector<int64_t> dims = c.ShapeOf(pairs.x).dims();
  dims.back() *= 2;
  return c.Reshape(by_two, dims);
}

Result<Pairs> Turn(NodeContext& c, const Pairs& pairs, const Value& cos, const Value& sin) {
  Pairs turned;
  PLUMB_ASSIGN_OR_RETURN(const Value cos_x, c.Binary(OpKind::kMul, pairs.x, cos));
  PLUMB_ASSIGN_OR_RETURN(const Value sin_y, c.Binary(OpKind::kMul, pairs.y, sin));
  PLUMB_ASSIGN_OR_RETURN(const Value sin_x, c.Binary(OpKind::kMul, pairs.x, sin));
  PLUMB_ASSIGN_OR_RETURN(const Value cos_y, c.Binary(OpKind::kMul, pairs.y, cos));
  PLUMB_ASSIGN_OR_RETURN(turned.x, c.Binary(OpKind::kSub, cos_x, sin_y));
  PLUMB_ASSIGN_OR_RETURN(turned.y, c.Binary(OpKind::kAdd, sin_x, cos_y));
  return turned;
}

}  // namespace

Result<Value> RotatePairs(NodeContext& c, const Value& x, const Value& cos, const Value& sin, bool interleaved) {
  const int64_t size = c.ShapeOf(x)[3], part = 2 * c.ShapeOf(cos)[3];
  if (part < 2 || part > size || c.ShapeOf(sin) != c.ShapeOf(cos)) {
    return Status::CorruptModel(fmt::format("cos is {} and sin {} for heads of {}", c.ShapeOf(cos).ToString(),
                                            c.ShapeOf(sin).ToString(), size));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value head, part == size ? Result<Value>(x) : c.Cut(x, 3, 0, part));
  PLUMB_ASSIGN_OR_RETURN(const Pairs pairs, SplitPairs(c, head, interleaved));
  PLUMB_ASSIGN_OR_RETURN(const Pairs turned, Turn(c, pairs, cos, sin));
  PLUMB_ASSIGN_OR_RETURN(const Value y, JoinPairs(c, turned, interleaved));
  if (part == size) return y;
  PLUMB_ASSIGN_OR_RETURN(const Value rest, c.Cut(x, 3, part, size));
  return c.Join({y, rest}, 3);
}

Status MapRotaryEmbedding(NodeContext& c) {
  const Shape in = c.ShapeOf(0);
  const int64_t heads = c.Int("num_heads", 0);
  Value x = c.In(0);  // [batch, heads, length, size], or from rank 3 [batch, length, heads, size]
  if (in.rank() == 3 && heads > 0 && in[2] % heads == 0) {
    PLUMB_ASSIGN_OR_RETURN(x, c.Reshape(x, {in[0], in[1], heads, in[2] / heads}));
  } else if (in.rank() != 4) {
    return Status::CorruptModel(fmt::format("the input is {} with num_heads {}", in.ToString(), heads));
  }
  const int64_t size = c.ShapeOf(x)[3], given = c.Int("rotary_embedding_dim", 0), part = given == 0 ? size : given;
  if (part < 2 || part > size || part % 2 != 0) {
    return Status::CorruptModel(fmt::format("rotary_embedding_dim is {} for heads of {}", part, size));
  }
  const bool interleaved = c.Int("interleaved", 0) != 0;
  PLUMB_ASSIGN_OR_RETURN(const Value cos, Angles(c, 1, in.rank() == 3 ? 2 : 1));
  PLUMB_ASSIGN_OR_RETURN(const Value sin, Angles(c, 2, in.rank() == 3 ? 2 : 1));
  if (2 * c.ShapeOf(cos)[3] != part) {
    return Status::CorruptModel(fmt::format("cos is {} for {} rotated entries", c.ShapeOf(cos).ToString(), part));
  }
  PLUMB_ASSIGN_OR_RETURN(Value y, RotatePairs(c, x, cos, sin, interleaved));
  PLUMB_ASSIGN_OR_RETURN(y, c.Reshape(y, in.dims()));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
