// SPDX-License-Identifier: Apache-2.0
// com.microsoft's Attention, QAttention and MultiHeadAttention. A mask adds mask_filter_value (-10000) to the scores of
// keys that count for nothing, `unidirectional` forbids those behind the query, present = past and the new keys.
#include <fmt/core.h>

#include "format/onnx/map/attend.h"
#include "format/onnx/map/attention_steps.h"
#include "format/onnx/map/product_steps.h"

namespace plumb::onnx {
namespace {

constexpr float kMaskFilter = -10000;

struct MicrosoftHeads {
  Value q, k, v;  // [batch, heads, length, size]
  int64_t past = 0;
};

Result<Value> AsColumn(NodeContext& c, const Value& list, int64_t begin, int64_t batch) {
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Cut(list, 0, begin, begin + batch));
  PLUMB_ASSIGN_OR_RETURN(const Value column, c.Reshape(part, {batch, 1, 1, 1}));
  return c.CastTo(column, DType::kI64);
}

// Where keys end, and for 2 * batch entries where they begin, too.
Status AddLengths(NodeContext& c, const Value& mask, int64_t batch, int64_t keys, AttentionBias* bias) {
  const float filter = c.Float("mask_filter_value", kMaskFilter);
  PLUMB_ASSIGN_OR_RETURN(const Value j, c.Positions(Shape{1, 1, 1, keys}, 3));
  PLUMB_ASSIGN_OR_RETURN(const Value end, AsColumn(c, mask, 0, batch));
  PLUMB_ASSIGN_OR_RETURN(const Value before, c.Emit(OpKind::kLess, nullptr, {j, end}));
  if (c.ShapeOf(mask)[0] == batch) return bias->Allow(before, filter);
  PLUMB_ASSIGN_OR_RETURN(const Value start, AsColumn(c, mask, batch, batch));
  PLUMB_ASSIGN_OR_RETURN(const Value early, c.Emit(OpKind::kLess, nullptr, {j, start}));
  const DType dtype = DType::kF32;
  const Value none = c.ConstFloat(0, dtype), much = c.ConstFloat(filter, dtype);
  PLUMB_ASSIGN_OR_RETURN(const Value inside, c.Select(early, much, none));
  PLUMB_ASSIGN_OR_RETURN(const Value all, c.Select(before, inside, much));
  return bias->Add(all);
}

// [batch] lengths, [2 * batch] ends and starts, [batch, keys] or [batch, queries, keys] of 0 and 1.
Status AddMask(NodeContext& c, const Value& mask, const MicrosoftHeads& h, AttentionBias* bias) {
  const Shape shape = c.ShapeOf(mask);
  const int64_t batch = c.ShapeOf(h.q)[0], queries = c.ShapeOf(h.q)[2], keys = c.ShapeOf(h.k)[2];
  if (shape == Shape{batch} || shape == Shape{2 * batch}) return AddLengths(c, mask, batch, keys, bias);
  const bool by_query = shape == Shape{batch, queries, keys};
  if (!by_query && shape != Shape{batch, keys}) {
    return Status::NotSupported(
        fmt::format("a mask of shape {} for {} times {} queries and {} keys", shape.ToString(), batch, queries, keys));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value wide, c.CastTo(mask, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Reshape(wide, {batch, 1, by_query ? queries : 1, keys}));
  PLUMB_ASSIGN_OR_RETURN(const Value zero, WholeNumber(c, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value seen, c.Emit(OpKind::kGreater, nullptr, {rows, zero}));
  return bias->Allow(seen, c.Float("mask_filter_value", kMaskFilter));
}

// An entry of `inputs` that does not stand in the node is absent.
Value Optional(NodeContext& c, int input) {
  const auto i = static_cast<size_t>(input);
  return input >= 0 && c.Has(i) ? c.In(i) : Value();
}

Result<Attended> AttendMasked(NodeContext& c, const MicrosoftHeads& h, int mask, int more) {
  AttentionBias bias(c, c.builder().Info(h.q).dtype);
  if (Optional(c, mask).present()) PLUMB_RETURN_IF_ERROR(AddMask(c, Optional(c, mask), h, &bias));
  if (c.Int("unidirectional", 0) != 0) {
    PLUMB_ASSIGN_OR_RETURN(const Value offset, WholeNumber(c, h.past));
    PLUMB_RETURN_IF_ERROR(bias.Window(offset, c.ShapeOf(h.q)[2], c.ShapeOf(h.k)[2], -1, 0));
  }
  if (Optional(c, more).present()) PLUMB_RETURN_IF_ERROR(bias.Add(Optional(c, more)));
  AttendOptions options;
  options.scale = c.Float("scale", 0);
  options.bias = bias.total();
  return Attend(c, h.q, h.k, h.v, options);
}

// Where q, k and v end in the projection.
Result<std::vector<int64_t>> HiddenSizes(NodeContext& c, int64_t width) {
  std::vector<int64_t> sizes = c.IntList("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, width / 3);
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != width || sizes[0] != sizes[1]) {
    return Status::CorruptModel(fmt::format("qkv_hidden_sizes do not fit the {} columns of the weights", width));
  }
  return sizes;
}

// past: [2, batch, heads, length, size], keys and values; so is present.
Result<Value> TakePast(NodeContext& c, const Value& past, MicrosoftHeads* h) {
  if (past.present()) {
    if (c.ShapeOf(past).rank() != 5) return Status::CorruptModel("past is " + c.ShapeOf(past).ToString());
    h->past = c.ShapeOf(past)[3];
    PLUMB_ASSIGN_OR_RETURN(const Value keys, c.Cut(past, 0, 0, 1, true));
    PLUMB_ASSIGN_OR_RETURN(const Value values, c.Cut(past, 0, 1, 2, true));
    PLUMB_ASSIGN_OR_RETURN(h->k, c.Join({keys, h->k}, 2));
    PLUMB_ASSIGN_OR_RETURN(h->v, c.Join({values, h->v}, 2));
  }
  if (!c.Wants(1)) return Value();
  PLUMB_ASSIGN_OR_RETURN(const Value keys, c.Unsqueeze(h->k, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value values, c.Unsqueeze(h->v, 0));
  return c.Join({keys, values}, 0);
}

// From the projection [batch, length, q | k | v] on.
Status AttendPacked(NodeContext& c, const Value& projected, int mask, int past, int more, int type) {
  if (c.Int("do_rotary", 0) != 0) return Status::NotSupported("do_rotary is not supported; nor is it on CPUs");
  if (c.Int("past_present_share_buffer", 0) != 0) return Status::NotSupported("past_present_share_buffer is not 0");
  (void)c.Int("rotary_embedding_dim", 0);
  const Shape shape = c.ShapeOf(projected);
  if (shape.rank() != 3)
    return Status::CorruptModel(fmt::format("the input is {}, expected 3 dims", c.ShapeOf(0).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, HiddenSizes(c, shape[2]));
  MicrosoftHeads h;
  int64_t begin = 0;
  Value* const parts[] = {&h.q, &h.k, &h.v};
  for (size_t i = 0; i < 3; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const Value part, c.Cut(projected, 2, begin, begin + sizes[i]));
    PLUMB_ASSIGN_OR_RETURN(*parts[i], SplitHeads(c, part, c.Int("num_heads", 0), "the projection"));
    begin += sizes[i];
  }
  PLUMB_ASSIGN_OR_RETURN(const Value present, TakePast(c, Optional(c, past), &h));
  PLUMB_ASSIGN_OR_RETURN(const Attended attended, AttendMasked(c, h, mask, more));
  PLUMB_ASSIGN_OR_RETURN(const Value y, JoinHeads(c, attended.y));
  c.Set(0, y, type);
  if (present.present()) c.Set(1, present, type);
  return Status::Ok();
}

}  // namespace

Status MapMicrosoftAttention(NodeContext& c) {
  if (c.Has(6)) return Status::NotSupported("past_sequence_length (past and present in one buffer)");
  PLUMB_ASSIGN_OR_RETURN(Value projected, Product(c, c.In(0), c.In(1)));
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(projected, c.Binary(OpKind::kAdd, projected, c.In(2)));
  }
  return AttendPacked(c, projected, 3, 4, 5, c.In(0).type);
}

// The projection is a product of integers, scaled once.
Status MapMicrosoftQAttention(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value sums, IntegerProduct(c, c.In(0), c.In(1), Optional(c, 6), Optional(c, 7)));
  PLUMB_ASSIGN_OR_RETURN(const Value single, c.CastTo(sums, DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(const Value input_scale, c.Reshape(c.In(3), {}));
  PLUMB_ASSIGN_OR_RETURN(const Value scale, c.Binary(OpKind::kMul, input_scale, c.In(4)));
  PLUMB_ASSIGN_OR_RETURN(const Value real, c.Binary(OpKind::kMul, single, scale));
  PLUMB_ASSIGN_OR_RETURN(const Value projected, c.Binary(OpKind::kAdd, real, c.In(2)));
  return AttendPacked(c, projected, 5, 8, -1, c.In(2).type);
}

namespace {

// Entry `which` of a packed [batch, length, heads, count, size] as [batch, heads, length, size].
Result<Value> Unpacked(NodeContext& c, size_t input, int64_t which) {
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Cut(c.In(input), 3, which, which + 1, true));
  return c.Transpose(part, {0, 2, 1, 3});
}

// The part [begin, begin + width) of the projections' bias, shaped for [batch, heads, length, size].
Result<Value> PlusBias(NodeContext& c, const Value& x, int64_t begin) {
  if (!c.Has(3)) return x;
  const int64_t heads = c.ShapeOf(x)[1], size = c.ShapeOf(x)[3];
  if (c.Rank(3) != 1 || c.ShapeOf(3)[0] < begin + heads * size)
    return Status::CorruptModel("the bias is " + c.ShapeOf(3).ToString());
  PLUMB_ASSIGN_OR_RETURN(const Value part, c.Cut(c.In(3), 0, begin, begin + heads * size));
  PLUMB_ASSIGN_OR_RETURN(const Value shaped, c.Reshape(part, {1, heads, 1, size}));
  return c.Binary(OpKind::kAdd, x, shaped);
}

// Keys and values of rank 4 stand as they are used: no bias belongs to them.
Result<MicrosoftHeads> TakeMultiHeads(NodeContext& c) {
  MicrosoftHeads h;
  const int64_t heads = c.Int("num_heads", 0);
  const bool packed = c.Rank(0) == 5, packed_keys = c.Has(1) && c.Rank(1) == 5, ready = c.Has(1) && c.Rank(1) == 4;
  if (!packed && (!c.Has(1) || (!packed_keys && !c.Has(2)))) return Status::CorruptModel("key or value is missing");
  if ((packed && c.ShapeOf(0)[3] != 3) || (packed_keys && c.ShapeOf(1)[3] != 2))
    return Status::CorruptModel("packed inputs have 3 (query) or 2 (key) in dim 3");
  PLUMB_ASSIGN_OR_RETURN(h.q, packed ? Unpacked(c, 0, 0) : SplitHeads(c, c.In(0), heads, "the query"));
  const auto take = [&](size_t input, int64_t in_query, int64_t in_key, const char* what) -> Result<Value> {
    if (packed) return Unpacked(c, 0, in_query);
    if (packed_keys) return Unpacked(c, 1, in_key);
    return ready ? Result<Value>(c.In(input)) : SplitHeads(c, c.In(input), heads, what);
  };
  PLUMB_ASSIGN_OR_RETURN(h.k, take(1, 1, 0, "the key"));
  PLUMB_ASSIGN_OR_RETURN(h.v, take(2, 2, 1, "the value"));
  const int64_t hidden = heads * c.ShapeOf(h.q)[3];
  PLUMB_ASSIGN_OR_RETURN(h.q, PlusBias(c, h.q, 0));
  if (ready) return h;
  PLUMB_ASSIGN_OR_RETURN(h.k, PlusBias(c, h.k, hidden));
  PLUMB_ASSIGN_OR_RETURN(h.v, PlusBias(c, h.v, 2 * hidden));
  return h;
}

}  // namespace

Status MapMicrosoftMultiHeadAttention(NodeContext& c) {
  if (c.Has(8) || c.Has(9))
    return Status::NotSupported("past_sequence_length and cache_indirection (past and present in one buffer)");
  if (c.Has(6) != c.Has(7)) return Status::CorruptModel("past_key and past_value go together");
  PLUMB_ASSIGN_OR_RETURN(MicrosoftHeads h, TakeMultiHeads(c));
  if (c.Has(6)) {
    if (c.Rank(6) != 4) return Status::CorruptModel("past_key is " + c.ShapeOf(6).ToString());
    h.past = c.ShapeOf(6)[2];
    PLUMB_ASSIGN_OR_RETURN(h.k, c.Join({c.In(6), h.k}, 2));
    PLUMB_ASSIGN_OR_RETURN(h.v, c.Join({c.In(7), h.v}, 2));
  }
  PLUMB_ASSIGN_OR_RETURN(const Attended attended, AttendMasked(c, h, 4, 5));
  PLUMB_ASSIGN_OR_RETURN(const Value y, JoinHeads(c, attended.y));
  c.Set(0, y);
  if (c.Wants(1)) c.Set(1, h.k);
  if (c.Wants(2)) c.Set(2, h.v);
  if (c.Wants(3)) c.Set(3, attended.scores);
  return Status::Ok();
}

}  // namespace plumb::onnx
