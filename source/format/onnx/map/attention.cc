// SPDX-License-Identifier: Apache-2.0
// Attention (opset 23 on), spelled out: queries and keys times sqrt(scale), their product, softcap, a bias that forbids
// keys by -infinity (mask, causal, window, padding), Softmax, the product with the values. A row whose keys are all
// forbidden is 0.
#include <algorithm>
#include <cmath>

#include "format/onnx/map/attention_steps.h"
#include "op/reduce.h"

namespace plumb::onnx {
namespace {

enum Input { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kNonPad };
enum ScoreOutput { kRaw, kCapped, kBiased, kProbabilities };

struct Heads {
  Value q, k, v;  // [batch, heads, length, size]
  Value k_present, v_present;
  int64_t past = 0;
};

// Rank 4 is split already.
Result<Value> Split(NodeContext& c, size_t input, const char* heads_attribute) {
  if (c.Rank(input) == 4) return c.In(input);
  return SplitHeads(c, c.In(input), c.Int(heads_attribute, 0), "input " + std::to_string(input));
}

Result<Heads> TakeHeads(NodeContext& c) {
  Heads h;
  PLUMB_ASSIGN_OR_RETURN(h.q, Split(c, kQuery, "q_num_heads"));
  PLUMB_ASSIGN_OR_RETURN(h.k_present, Split(c, kKey, "kv_num_heads"));
  PLUMB_ASSIGN_OR_RETURN(h.v_present, Split(c, kValue, "kv_num_heads"));
  if (c.Has(kPastKey) != c.Has(kPastValue)) return Status::CorruptModel("past_key and past_value go together");
  if (c.Has(kPastKey)) {
    if (c.Rank(kPastKey) != 4) return Status::CorruptModel("past_key is " + c.ShapeOf(kPastKey).ToString());
    h.past = c.ShapeOf(kPastKey)[2];
    PLUMB_ASSIGN_OR_RETURN(h.k_present, c.Join({c.In(kPastKey), h.k_present}, 2));
    PLUMB_ASSIGN_OR_RETURN(h.v_present, c.Join({c.In(kPastValue), h.v_present}, 2));
  }
  const int64_t heads = c.ShapeOf(h.q)[1];
  PLUMB_ASSIGN_OR_RETURN(h.k, RepeatHeads(c, h.k_present, heads));
  PLUMB_ASSIGN_OR_RETURN(h.v, RepeatHeads(c, h.v_present, heads));
  return h;
}

// The mask may be shorter than the keys: those behind it are forbidden.
Status AddMask(NodeContext& c, int64_t keys, AttentionBias* bias) {
  Value mask = c.In(kMask);
  const DType dtype = c.DTypeOf(kMask);
  Shape shape = c.ShapeOf(mask);
  if (shape.rank() < 1 || shape[shape.rank() - 1] > keys)
    return Status::CorruptModel("the mask is " + shape.ToString());
  const int last = shape.rank() - 1;
  if (shape[last] < keys) {
    std::vector<int64_t> dims = shape.dims();
    dims.back() = keys - shape[last];
    PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kF32, Shape(dims)));
    PLUMB_ASSIGN_OR_RETURN(Tensor rest, Tensor::Zeros(DType::kF32, Shape(dims)));
    if (dtype != DType::kBool) std::fill_n(rest.data<float>(), rest.NumElements(), -INFINITY);
    PLUMB_ASSIGN_OR_RETURN(rest, rest.ConvertedTo(dtype));
    PLUMB_ASSIGN_OR_RETURN(mask, c.Join({mask, c.Const(rest)}, last));
  }
  return dtype == DType::kBool ? bias->Allow(mask) : bias->Add(mask);
}

Result<Value> MakeBias(NodeContext& c, const Heads& h) {
  const int64_t queries = c.ShapeOf(h.q)[2], keys = c.ShapeOf(h.k)[2];
  AttentionBias bias(c, c.DTypeOf(kQuery));
  if (c.Has(kMask)) PLUMB_RETURN_IF_ERROR(AddMask(c, keys, &bias));
  PLUMB_ASSIGN_OR_RETURN(Value offset, WholeNumber(c, h.past));
  if (c.Has(kNonPad)) {
    PLUMB_ASSIGN_OR_RETURN(const Value lengths, c.Reshape(c.In(kNonPad), {c.ShapeOf(kNonPad).NumElements(), 1, 1, 1}));
    PLUMB_ASSIGN_OR_RETURN(const Value wide, c.CastTo(lengths, DType::kI64));
    PLUMB_ASSIGN_OR_RETURN(const Value count, WholeNumber(c, queries));
    PLUMB_ASSIGN_OR_RETURN(offset, c.Binary(OpKind::kSub, wide, count));
    PLUMB_ASSIGN_OR_RETURN(const Value j, c.Positions(Shape{1, keys}, 1));
    PLUMB_ASSIGN_OR_RETURN(const Value filled, c.Emit(OpKind::kLess, nullptr, {j, wide}));
    PLUMB_RETURN_IF_ERROR(bias.Allow(filled));
  }
  const int64_t right = c.Int("is_causal", 0) != 0 ? 0 : c.Int("right_window_size", -1);
  PLUMB_RETURN_IF_ERROR(bias.Window(offset, queries, keys, c.Int("left_window_size", -1), right));
  return bias.total();
}

Result<Value> Scores(NodeContext& c, const Heads& h) {
  const auto size = static_cast<double>(c.ShapeOf(h.q)[3]);
  const double scale = c.HasAttribute("scale") ? c.Float("scale", 1) : 1 / std::sqrt(size);
  const Value root = c.ConstFloat(static_cast<float>(std::sqrt(scale)), c.DTypeOf(kQuery));
  PLUMB_ASSIGN_OR_RETURN(const Value q, c.Binary(OpKind::kMul, h.q, root));
  PLUMB_ASSIGN_OR_RETURN(const Value turned, c.Transpose(h.k, {0, 1, 3, 2}));
  PLUMB_ASSIGN_OR_RETURN(const Value k, c.Binary(OpKind::kMul, turned, root));
  return c.Emit(OpKind::kMatMul, nullptr, {q, k});
}

Result<Value> Probabilities(NodeContext& c, const Value& scores, const Value& bias) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, SoftmaxOfRows(c, scores));
  if (!bias.present()) return y;
  auto largest = std::make_shared<ReduceParam>();
  largest->keep_dims = true;
  largest->axes = {c.ShapeOf(bias).rank() - 1};
  const DType dtype = c.DTypeOf(kQuery);
  PLUMB_ASSIGN_OR_RETURN(const Value best, c.Emit(OpKind::kReduceMax, largest, {bias}));
  PLUMB_ASSIGN_OR_RETURN(const Value none, c.Emit(OpKind::kEqual, nullptr, {best, c.ConstFloat(-INFINITY, dtype)}));
  const Tensor* known = c.Known(none);
  bool possible = known == nullptr;
  for (int64_t i = 0; known != nullptr && i < known->NumElements(); ++i) possible = possible || known->ValueAt(i) != 0;
  return possible ? c.Select(none, c.ConstFloat(0, dtype), y) : Result<Value>(y);
}

}  // namespace

Status MapAttention(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Heads h, TakeHeads(c));
  PLUMB_ASSIGN_OR_RETURN(const Value bias, MakeBias(c, h));
  Value scores[4];
  PLUMB_ASSIGN_OR_RETURN(scores[kRaw], Scores(c, h));
  PLUMB_ASSIGN_OR_RETURN(scores[kCapped], CapScores(c, scores[kRaw], c.Float("softcap", 0)));
  scores[kBiased] = scores[kCapped];
  if (bias.present()) {
    PLUMB_ASSIGN_OR_RETURN(scores[kBiased], c.Binary(OpKind::kAdd, scores[kCapped], bias));
  }
  PLUMB_ASSIGN_OR_RETURN(scores[kProbabilities], Probabilities(c, scores[kBiased], bias));
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kMatMul, nullptr, {scores[kProbabilities], h.v}));
  if (c.Rank(kQuery) == 3) {
    PLUMB_ASSIGN_OR_RETURN(y, JoinHeads(c, y));
  }
  c.Set(0, y);
  if (c.Wants(1)) c.Set(1, h.k_present, c.In(kKey).type);
  if (c.Wants(2)) c.Set(2, h.v_present, c.In(kValue).type);
  const int64_t mode = c.Int("qk_matmul_output_mode", 0);
  if (mode < kRaw || mode > kProbabilities)
    return Status::CorruptModel("qk_matmul_output_mode is " + std::to_string(mode));
  if (c.Wants(3)) c.Set(3, scores[mode]);
  return Status::Ok();
}

}  // namespace plumb::onnx
