// SPDX-License-Identifier: Apache-2.0
// com.microsoft's GroupQueryAttention: new keys and values go into a cache behind those that each batch entry has
// already (seqlens_k says how many, itself included, less 1), queries see what is not behind them, nor the
// padding of a prompt. q and k may be normalised and turned (rotary) first.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/map/attend.h"
#include "format/onnx/map/attention_steps.h"
#include "format/onnx/map/norm_steps.h"
#include "format/onnx/map/rotary_steps.h"
#include "op/gather.h"

namespace plumb::onnx {
namespace {

enum GqaInput {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPlaces,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};

struct Groups {
  Value q, k, v;  // [batch, heads, length, size], new ones
  int64_t batch = 0, length = 0, past = 0, total = 0;
  int64_t present = 0;  // the length of the cache afterwards
  bool prompt = false;  // the first call: nothing is in the cache
  Value before;         // i64 [batch, 1, 1, 1]: how many are in the cache
};

Status RefuseRest(NodeContext& c) {
  if (c.Has(kKeyScale) || c.Has(kValueScale) || c.Text("k_quant_type", "NONE") != "NONE" ||
      c.Text("v_quant_type", "NONE") != "NONE" || c.Int("kv_cache_bit_width", 0) != 0)
    return Status::NotSupported("a quantised cache (k_quant_type, v_quant_type, kv_cache_bit_width)");
  if (c.Int("sliding_window_cache", 0) != 0) return Status::NotSupported("sliding_window_cache is not 0");
  if (c.Has(kPastKey) != c.Has(kPastValue)) return Status::CorruptModel("past_key and past_value go together");
  if (c.Has(kQueryNorm) != c.Has(kKeyNorm)) return Status::CorruptModel("q_norm_weight and k_norm_weight go together");
  if (c.Has(kKey) != c.Has(kValue)) return Status::CorruptModel("key and value go together");
  return Status::Ok();
}

// Without key and value the query holds all three.
Result<Groups> TakeGroups(NodeContext& c) {
  Groups g;
  const int64_t heads = c.Int("num_heads", 0), few = c.Int("kv_num_heads", 0);
  const Shape shape = c.ShapeOf(kQuery);
  if (shape.rank() != 3 || heads < 1 || few < 1)
    return Status::CorruptModel(
        fmt::format("the query is {} with num_heads {} and kv_num_heads {}", shape.ToString(), heads, few));
  Value q = c.In(kQuery), k = c.Has(kKey) ? c.In(kKey) : q, v = c.Has(kValue) ? c.In(kValue) : q;
  if (!c.Has(kKey)) {
    const int64_t size = shape[2] / (heads + 2 * few);
    PLUMB_ASSIGN_OR_RETURN(k, c.Cut(q, 2, heads * size, (heads + few) * size));
    PLUMB_ASSIGN_OR_RETURN(v, c.Cut(q, 2, (heads + few) * size, shape[2]));
    PLUMB_ASSIGN_OR_RETURN(q, c.Cut(q, 2, 0, heads * size));
  }
  PLUMB_ASSIGN_OR_RETURN(g.q, SplitHeads(c, q, heads, "the query"));
  PLUMB_ASSIGN_OR_RETURN(g.k, SplitHeads(c, k, few, "the key"));
  PLUMB_ASSIGN_OR_RETURN(g.v, SplitHeads(c, v, few, "the value"));
  g.batch = shape[0];
  g.length = shape[1];
  if (c.Has(kPastKey)) {
    if (c.Rank(kPastKey) != 4) return Status::CorruptModel("past_key is " + c.ShapeOf(kPastKey).ToString());
    g.past = c.ShapeOf(kPastKey)[2];
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> total, c.Ints(kTotal, "total_sequence_length"));
  if (total.size() != 1 || total[0] < g.length) {
    return Status::CorruptModel("total_sequence_length must be one number of at least " + std::to_string(g.length));
  }
  g.total = total[0];
  g.present = std::max(g.total, g.past);
  g.prompt = g.total == g.length;
  return g;
}

// What each batch entry had before: nothing, or seqlens_k + 1 less the new ones.
Status CountBefore(NodeContext& c, Groups* g) {
  if (c.ShapeOf(kLengths).NumElements() != g->batch)
    return Status::CorruptModel(
        fmt::format("seqlens_k is {} for a batch of {}", c.ShapeOf(kLengths).ToString(), g->batch));
  PLUMB_ASSIGN_OR_RETURN(const Value none, WholeNumber(c, 0));
  PLUMB_ASSIGN_OR_RETURN(g->before, c.Reshape(none, {1, 1, 1, 1}));
  if (g->prompt) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Value lengths, c.Reshape(c.In(kLengths), {g->batch, 1, 1, 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value wide, c.CastTo(lengths, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value fresh, WholeNumber(c, g->length - 1));
  PLUMB_ASSIGN_OR_RETURN(g->before, c.Binary(OpKind::kSub, wide, fresh));
  return Status::Ok();
}

// The places of the new ones: i64 [batch or 1, length].
Result<Value> PlacesOf(NodeContext& c, const Groups& g) {
  if (c.Has(kPlaces) && !g.prompt) return c.In(kPlaces);
  Value first = g.before;
  if (c.Has(kPlaces)) {  // of a prompt only the first one counts
    PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(c.In(kPlaces), {c.ShapeOf(kPlaces).NumElements()}));
    PLUMB_ASSIGN_OR_RETURN(first, c.Cut(flat, 0, 0, 1));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value column, c.Reshape(first, {c.ShapeOf(first).NumElements(), 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value each, c.Positions(Shape{1, g.length}, 1));
  return c.Binary(OpKind::kAdd, each, column);
}

Result<Value> Normal(NodeContext& c, const Value& x, size_t weight) {
  PLUMB_ASSIGN_OR_RETURN(const Value inverse, RootMeanSquareInverse(c, x, {3}, c.Float("qk_norm_epsilon", 1e-6f)));
  PLUMB_ASSIGN_OR_RETURN(const Value normal, c.Binary(OpKind::kMul, x, inverse));
  return c.Binary(OpKind::kMul, normal, c.In(weight));
}

Status Turn(NodeContext& c, Groups* g) {
  if (c.Has(kQueryNorm)) {
    PLUMB_ASSIGN_OR_RETURN(g->q, Normal(c, g->q, kQueryNorm));
    PLUMB_ASSIGN_OR_RETURN(g->k, Normal(c, g->k, kKeyNorm));
  }
  const bool pairs = c.Int("rotary_interleaved", 0) != 0;
  if (c.Int("do_rotary", 0) == 0) return Status::Ok();
  if (!c.Has(kCos) || !c.Has(kSin)) return Status::CorruptModel("do_rotary needs cos_cache and sin_cache");
  PLUMB_ASSIGN_OR_RETURN(const Value places, PlacesOf(c, *g));
  PLUMB_ASSIGN_OR_RETURN(const Value cos, RowsAt(c, c.In(kCos), places));
  PLUMB_ASSIGN_OR_RETURN(const Value sin, RowsAt(c, c.In(kSin), places));
  PLUMB_ASSIGN_OR_RETURN(g->q, RotatePairs(c, g->q, cos, sin, pairs));
  PLUMB_ASSIGN_OR_RETURN(g->k, RotatePairs(c, g->k, cos, sin, pairs));
  return Status::Ok();
}

// Row t of a batch entry's cache is row t of the past, a new one, or (behind them) 0.
Result<Value> CacheRows(NodeContext& c, const Groups& g) {
  PLUMB_ASSIGN_OR_RETURN(const Value before, c.Reshape(g.before, {c.ShapeOf(g.before).NumElements(), 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value t, c.Positions(Shape{1, g.present}, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value fresh, c.Binary(OpKind::kSub, t, before));
  PLUMB_ASSIGN_OR_RETURN(const Value length, WholeNumber(c, g.length));
  PLUMB_ASSIGN_OR_RETURN(const Value offset, WholeNumber(c, g.past));
  PLUMB_ASSIGN_OR_RETURN(const Value last, WholeNumber(c, g.past + g.length));
  PLUMB_ASSIGN_OR_RETURN(const Value in_fresh, c.Binary(OpKind::kAdd, fresh, offset));
  PLUMB_ASSIGN_OR_RETURN(const Value is_fresh, c.Emit(OpKind::kLess, nullptr, {fresh, length}));
  PLUMB_ASSIGN_OR_RETURN(const Value is_past, c.Emit(OpKind::kLess, nullptr, {t, before}));
  PLUMB_ASSIGN_OR_RETURN(const Value behind, c.Select(is_fresh, in_fresh, last));
  PLUMB_ASSIGN_OR_RETURN(const Value rows, c.Select(is_past, t, behind));
  return c.Unsqueeze(rows, 2);
}

// One piece after the other where everyone has as many before, else row by row.
Result<Value> Cached(NodeContext& c, const Groups& g, size_t past, const Value& fresh) {
  const Shape shape = c.ShapeOf(fresh);
  const auto zeros = [&](int64_t rows) -> Result<Value> {
    PLUMB_ASSIGN_OR_RETURN(const Tensor nothing, Tensor::Zeros(DType::kF32, Shape{shape[0], shape[1], rows, shape[3]}));
    return c.Const(nothing);
  };
  const Tensor* before = c.Known(g.before);
  bool same = before != nullptr;
  for (int64_t i = 1; same && i < before->NumElements(); ++i) same = before->ValueAt(i) == before->ValueAt(0);
  if (same) {
    const auto count = static_cast<int64_t>(before->ValueAt(0)), rest = g.present - count - g.length;
    if (count < 0 || count > g.past || rest < 0)
      return Status::CorruptModel(fmt::format("seqlens_k says that the cache holds {} of its {} rows", count, g.past));
    std::vector<Value> parts;
    if (count > 0) {
      PLUMB_ASSIGN_OR_RETURN(const Value kept,
                             count == g.past ? Result<Value>(c.In(past)) : c.Cut(c.In(past), 2, 0, count));
      parts.push_back(kept);
    }
    parts.push_back(fresh);
    if (rest > 0) {
      PLUMB_ASSIGN_OR_RETURN(const Value nothing, zeros(rest));
      parts.push_back(nothing);
    }
    return c.Join(parts, 2);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value nothing, zeros(1));
  std::vector<Value> parts = {fresh, nothing};
  if (g.past > 0) parts.insert(parts.begin(), c.In(past));
  PLUMB_ASSIGN_OR_RETURN(const Value source, c.Join(parts, 2));
  PLUMB_ASSIGN_OR_RETURN(const Value by_row, c.Transpose(source, {0, 2, 1, 3}));
  PLUMB_ASSIGN_OR_RETURN(const Value rows, CacheRows(c, g));
  auto param = std::make_shared<GatherNDParam>();
  param->batch_dims = 1;
  PLUMB_ASSIGN_OR_RETURN(const Value taken, c.Emit(OpKind::kGatherND, param, {by_row, rows}));
  return c.Transpose(taken, {0, 2, 1, 3});
}

// Keys that a query sees, its own included; not above 0: all before it.
int64_t Window(NodeContext& c) { return c.Int("causal", 1) != 0 ? c.Int("local_window_size", -1) : -1; }

// Of a prompt in a padded batch: a batch entry's rows behind seqlens_k are padding.
bool MayBePadded(NodeContext& c, const Groups& g) {
  const Tensor* lengths = g.prompt ? c.Known(kLengths) : nullptr;
  bool full = lengths != nullptr;
  for (int64_t i = 0; full && i < lengths->NumElements(); ++i)
    full = lengths->ValueAt(i) >= static_cast<double>(g.length - 1);
  return g.prompt && !full;
}

// i64 [batch, 1, 1, 1]: the last row of the cache that holds something.
Result<Value> LastRow(NodeContext& c, const Groups& g) {
  PLUMB_ASSIGN_OR_RETURN(const Value lengths, c.Reshape(c.In(kLengths), {g.batch, 1, 1, 1}));
  return c.CastTo(lengths, DType::kI64);
}

Status ForbidPadding(NodeContext& c, const Groups& g, AttentionBias* bias) {
  PLUMB_ASSIGN_OR_RETURN(const Value j, c.Positions(Shape{1, 1, 1, g.present}, 3));
  PLUMB_ASSIGN_OR_RETURN(const Value last, LastRow(c, g));
  PLUMB_ASSIGN_OR_RETURN(const Value behind, c.Emit(OpKind::kGreater, nullptr, {j, last}));
  return bias->Forbid(behind);
}

// A padded row whose window holds nothing but padding is 0.
Result<Value> BlindRowsAsZero(NodeContext& c, const Groups& g, int64_t window, const Value& y) {
  PLUMB_ASSIGN_OR_RETURN(const Value i, c.Positions(Shape{1, 1, g.length, 1}, 2));
  PLUMB_ASSIGN_OR_RETURN(const Value back, WholeNumber(c, window - 1));
  PLUMB_ASSIGN_OR_RETURN(const Value first, c.Binary(OpKind::kSub, i, back));
  PLUMB_ASSIGN_OR_RETURN(const Value last, LastRow(c, g));
  PLUMB_ASSIGN_OR_RETURN(const Value blind, c.Emit(OpKind::kGreater, nullptr, {first, last}));
  return c.Select(blind, c.ConstFloat(0), y);
}

Result<AttendOptions> MakeOptions(NodeContext& c, const Groups& g) {
  AttendOptions options;
  options.scale = c.Float("scale", 0);
  options.cap = c.Float("softcap", 0);
  AttentionBias bias(c, DType::kF32);
  const bool causal = c.Int("causal", 1) != 0;
  if (causal) {
    const int64_t window = Window(c);
    PLUMB_RETURN_IF_ERROR(bias.Window(g.before, g.length, g.present, window > 0 ? window - 1 : -1, 0));
  }
  if (!causal || MayBePadded(c, g)) PLUMB_RETURN_IF_ERROR(ForbidPadding(c, g, &bias));
  if (c.Has(kBias)) {
    const int64_t keys = c.ShapeOf(kBias)[c.Rank(kBias) - 1];
    if (keys < g.present)
      return Status::NotSupported(fmt::format("an attention_bias for {} of {} rows of the cache", keys, g.present));
    PLUMB_RETURN_IF_ERROR(bias.Add(c.In(kBias)));
  }
  options.bias = bias.total();
  if (c.Has(kSink)) {
    options.sink = c.In(kSink);
  } else if (c.Int("smooth_softmax", -1) > 0) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(DType::kF32, Shape{c.ShapeOf(g.q)[1]}));
    options.sink = c.Const(zeros);
  }
  return options;
}

// Scores of keys that a query does not see are shown as 0.
Result<Value> ShownScores(NodeContext& c, const Value& scores) {
  PLUMB_ASSIGN_OR_RETURN(const Value unseen, c.Emit(OpKind::kEqual, nullptr, {scores, c.ConstFloat(-INFINITY)}));
  return c.Select(unseen, c.ConstFloat(0), scores);
}

}  // namespace

Status MapMicrosoftGroupQueryAttention(NodeContext& c) {
  PLUMB_RETURN_IF_ERROR(RefuseRest(c));
  PLUMB_ASSIGN_OR_RETURN(Groups g, TakeGroups(c));
  PLUMB_RETURN_IF_ERROR(CountBefore(c, &g));
  PLUMB_RETURN_IF_ERROR(Turn(c, &g));
  PLUMB_ASSIGN_OR_RETURN(const Value keys, Cached(c, g, kPastKey, g.k));
  PLUMB_ASSIGN_OR_RETURN(const Value values, Cached(c, g, kPastValue, g.v));
  PLUMB_ASSIGN_OR_RETURN(const Value k, RepeatHeads(c, keys, c.ShapeOf(g.q)[1]));
  PLUMB_ASSIGN_OR_RETURN(const Value v, RepeatHeads(c, values, c.ShapeOf(g.q)[1]));
  PLUMB_ASSIGN_OR_RETURN(const AttendOptions options, MakeOptions(c, g));
  PLUMB_ASSIGN_OR_RETURN(const Attended attended, Attend(c, g.q, k, v, options));
  Value mixed = attended.y;
  if (Window(c) > 0 && MayBePadded(c, g)) {
    PLUMB_ASSIGN_OR_RETURN(mixed, BlindRowsAsZero(c, g, Window(c), mixed));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, JoinHeads(c, mixed));
  c.Set(0, y);
  if (c.Wants(1)) c.Set(1, keys);
  if (c.Wants(2)) c.Set(2, values);
  const int64_t shown = c.Int("qk_output", 0);
  if (c.Wants(3) && (shown < 1 || shown > 2)) return Status::CorruptModel("output_qk is wanted, but qk_output is 0");
  if (!c.Wants(3)) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Value weights,
                         shown == 1 ? ShownScores(c, attended.scores) : Result<Value>(attended.probabilities));
  c.Set(3, weights);
  return Status::Ok();
}

}  // namespace plumb::onnx
