// SPDX-License-Identifier: Apache-2.0
// What hands a state on from token to token: SSM_SCAN, RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN, GATED_DELTA_NET. One
// step of layers per token; the output holds what each token reads, then the states that are left.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/map/attention_steps.h"
#include "format/onnx/map/ggml_steps.h"
#include "op/gather.h"

namespace plumb::onnx {
// NOLINTBEGIN(readability-identifier-naming): the rows of ggml_list.def bear ggml's names
namespace {

constexpr int64_t kMaxTokens = 256;  // of a sequence: each is some ten layers

// Sequences of tokens, heads and what a head has.
struct Tokens {
  int64_t sequences = 1, count = 1, heads = 1, size = 1;
};

Status CheckTokens(const Tokens& t) {
  if (t.sequences < 1 || t.count < 1 || t.heads < 1 || t.size < 1) return Status::CorruptModel("it has no values");
  if (t.count <= kMaxTokens) return Status::Ok();
  return Status::NotSupported(
      fmt::format("{} tokens in a sequence, of at most {} that are known", t.count, kMaxTokens));
}

// Token `at` of [sequences, tokens, heads, n] as [sequences, heads, n, 1] (a column) or [sequences, heads, 1, n].
Result<Value> OfToken(NodeContext& c, const Value& x, int64_t at, bool column) {
  const Shape shape = c.ShapeOf(x);
  PLUMB_ASSIGN_OR_RETURN(const Value cut, c.Cut(x, 1, at, at + 1));
  return column ? c.Reshape(cut, {shape[0], shape[2], shape[3], 1}) : c.Reshape(cut, {shape[0], shape[2], 1, shape[3]});
}

Result<Value> Product(NodeContext& c, const Value& a, const Value& b) {
  return c.Emit(OpKind::kMatMul, nullptr, {a, b});
}

// What each token read (as many values as a token has), then the states.
Status SetReadsAndStates(NodeContext& c, const Tokens& t, const std::vector<Value>& reads,
                         const std::vector<Value>& states) {
  std::vector<Value> each, parts;
  for (const Value& read : reads) {
    PLUMB_ASSIGN_OR_RETURN(const Value one, c.Reshape(read, {t.sequences, 1, t.heads * t.size}));
    each.push_back(one);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value all, c.Join(each, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(all, {c.ShapeOf(all).NumElements()}));
  parts.push_back(flat);
  for (const Value& state : states) {
    PLUMB_ASSIGN_OR_RETURN(const Value one, c.Reshape(state, {c.ShapeOf(state).NumElements()}));
    parts.push_back(one);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Join(parts, 0));
  const std::vector<int64_t> dims = c.LongIntList("shape");
  if (Shape(dims).Validate().ok() && c.ShapeOf(y).NumElements() == Shape(dims).NumElements()) {
    PLUMB_ASSIGN_OR_RETURN(const Value shaped, c.Reshape(y, dims));
    return SetGgml(c, shaped);
  }
  return Status::CorruptModel(
      fmt::format("its inputs make {}, the manifest says {}", c.ShapeOf(y).ToString(), Shape(dims).ToString()));
}

// The states after the last tokens, the newest first: as many as op_params say.
Result<std::vector<Value>> NewestStates(NodeContext& c, const std::vector<Value>& states) {
  const auto count = static_cast<size_t>(std::max(1, GgmlInt(c, 0)));
  if (count > states.size())
    return Status::NotSupported(fmt::format("{} states of {} tokens: some are not written", count, states.size()));
  return std::vector<Value>(states.rbegin(), states.rbegin() + static_cast<std::ptrdiff_t>(count));
}

// --- RWKV and gated linear attention: inputs [tokens of all sequences, heads, size], a state [sequences, ...]

struct LinearInputs {
  Tokens tokens;
  std::vector<Value> of_token;  // [sequences, tokens, heads, size]
  Value state;                  // [sequences, heads, size, size]
};

// `count` inputs per token, without input `constant` (-1: none) among them, then the state.
Result<LinearInputs> TakeLinear(NodeContext& c, size_t count, int constant) {
  LinearInputs in;
  PLUMB_ASSIGN_OR_RETURN(const Value first, FourDims(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value state, FourDims(c, c.In(count)));
  const Shape shape = c.ShapeOf(first), of_state = c.ShapeOf(state);
  Tokens& t = in.tokens;
  t.sequences = of_state[2];
  t.heads = shape[2];
  t.size = shape[3];
  if (shape[0] != 1 || t.sequences < 1 || shape[1] % t.sequences != 0 ||
      of_state.NumElements() != t.sequences * t.heads * t.size * t.size) {
    return Status::CorruptModel(fmt::format("a state {} for {}", of_state.ToString(), shape.ToString()));
  }
  t.count = shape[1] / t.sequences;
  PLUMB_RETURN_IF_ERROR(CheckTokens(t));
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<int>(i) == constant) continue;
    if (c.ShapeOf(i).NumElements() != shape.NumElements())
      return Status::CorruptModel(
          fmt::format("input {} is {}, the first {}", i, c.ShapeOf(i).ToString(), shape.ToString()));
    PLUMB_ASSIGN_OR_RETURN(const Value one, c.Reshape(c.In(i), {t.sequences, t.count, t.heads, t.size}));
    in.of_token.push_back(one);
  }
  PLUMB_ASSIGN_OR_RETURN(in.state, c.Reshape(state, {t.sequences, t.heads, t.size, t.size}));
  return in;
}

}  // namespace

// k, v, r, first, decay, state [key, value]: y = r (state + first k v'), state = decay state + k v'.
Status MapGgmlRWKV_WKV6(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(LinearInputs in, TakeLinear(c, 5, 3));
  if (c.ShapeOf(3).NumElements() != in.tokens.heads * in.tokens.size)
    return Status::CorruptModel("the first token's weights are " + c.ShapeOf(3).ToString());
  PLUMB_ASSIGN_OR_RETURN(const Value first, c.Reshape(c.In(3), {1, in.tokens.heads, in.tokens.size, 1}));
  std::vector<Value> reads;
  for (int64_t at = 0; at < in.tokens.count; ++at) {
    PLUMB_ASSIGN_OR_RETURN(const Value k, OfToken(c, in.of_token[0], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value v, OfToken(c, in.of_token[1], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value r, OfToken(c, in.of_token[2], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value decay, OfToken(c, in.of_token[3], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value kv, c.Binary(OpKind::kMul, k, v));
    PLUMB_ASSIGN_OR_RETURN(const Value bonus, c.Binary(OpKind::kMul, kv, first));
    PLUMB_ASSIGN_OR_RETURN(const Value seen, c.Binary(OpKind::kAdd, bonus, in.state));
    PLUMB_ASSIGN_OR_RETURN(const Value read, Product(c, r, seen));
    reads.push_back(read);
    PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, in.state, decay));
    PLUMB_ASSIGN_OR_RETURN(in.state, c.Binary(OpKind::kAdd, kept, kv));
  }
  return SetReadsAndStates(c, in.tokens, reads, {in.state});
}

// k, v, q, gate, state [key, value]: state = gate state + k v', y = scale q state.
Status MapGgmlGATED_LINEAR_ATTN(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(LinearInputs in, TakeLinear(c, 4, -1));
  std::vector<Value> reads;
  for (int64_t at = 0; at < in.tokens.count; ++at) {
    PLUMB_ASSIGN_OR_RETURN(const Value k, OfToken(c, in.of_token[0], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value v, OfToken(c, in.of_token[1], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value q, OfToken(c, in.of_token[2], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value gate, OfToken(c, in.of_token[3], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value kv, c.Binary(OpKind::kMul, k, v));
    PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, in.state, gate));
    PLUMB_ASSIGN_OR_RETURN(in.state, c.Binary(OpKind::kAdd, kept, kv));
    PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, q, c.ConstFloat(GgmlFloat(c, 0))));
    PLUMB_ASSIGN_OR_RETURN(const Value read, Product(c, scaled, in.state));
    reads.push_back(read);
  }
  return SetReadsAndStates(c, in.tokens, reads, {in.state});
}

// r, w, k, v, a, b, state [value, key]: state = state w + v k' + (state a) b', y = state r.
Status MapGgmlRWKV_WKV7(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(LinearInputs in, TakeLinear(c, 6, -1));
  std::vector<Value> reads;
  for (int64_t at = 0; at < in.tokens.count; ++at) {
    PLUMB_ASSIGN_OR_RETURN(const Value r, OfToken(c, in.of_token[0], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value w, OfToken(c, in.of_token[1], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value k, OfToken(c, in.of_token[2], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value v, OfToken(c, in.of_token[3], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value a, OfToken(c, in.of_token[4], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value b, OfToken(c, in.of_token[5], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value removed, Product(c, in.state, a));
    PLUMB_ASSIGN_OR_RETURN(const Value instead, c.Binary(OpKind::kMul, removed, b));
    PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, in.state, w));
    PLUMB_ASSIGN_OR_RETURN(const Value kv, c.Binary(OpKind::kMul, v, k));
    PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kAdd, kept, kv));
    PLUMB_ASSIGN_OR_RETURN(in.state, c.Binary(OpKind::kAdd, more, instead));
    PLUMB_ASSIGN_OR_RETURN(const Value read, Product(c, in.state, r));
    reads.push_back(read);
  }
  return SetReadsAndStates(c, in.tokens, reads, {in.state});
}

// q, k, v, log gate (of a head or of each key), beta, state [value, key]: state = exp(gate) state,
// state += beta (v - state k) k', y = state q / sqrt(size).
Status MapGgmlGATED_DELTA_NET(NodeContext& c) {
  Value x[5];
  for (size_t i = 0; i < 5; ++i) {
    PLUMB_ASSIGN_OR_RETURN(x[i], FourDims(c, c.In(i)));
  }
  const Shape of_v = c.ShapeOf(x[2]);
  const Tokens t = {of_v[0], of_v[1], of_v[2], of_v[3]};
  PLUMB_RETURN_IF_ERROR(CheckTokens(t));
  for (const size_t i : {0, 1}) {  // heads of v share those of q and k in turns
    if (c.ShapeOf(x[i])[0] != t.sequences) return Status::NotSupported("sequences that share queries are not known");
    PLUMB_ASSIGN_OR_RETURN(x[i], RepeatedLike(c, x[i], of_v.dims()));
    if (c.ShapeOf(x[i])[2] == t.heads) continue;
    PLUMB_ASSIGN_OR_RETURN(x[i], c.Join(std::vector<Value>(static_cast<size_t>(t.heads), x[i]), 2));
  }
  if (c.ShapeOf(5).NumElements() != t.sequences * t.heads * t.size * t.size)
    return Status::CorruptModel("the state is " + c.ShapeOf(5).ToString());
  PLUMB_ASSIGN_OR_RETURN(Value state, c.Reshape(c.In(5), {t.sequences, t.heads, t.size, t.size}));
  std::vector<Value> reads, states;
  for (int64_t at = 0; at < t.count; ++at) {
    PLUMB_ASSIGN_OR_RETURN(const Value q, OfToken(c, x[0], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value k, OfToken(c, x[1], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value v, OfToken(c, x[2], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value log_gate, OfToken(c, x[3], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value beta, OfToken(c, x[4], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value gate, c.Emit(OpKind::kExp, nullptr, {log_gate}));
    PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, state, gate));
    PLUMB_ASSIGN_OR_RETURN(const Value known, Product(c, kept, k));
    PLUMB_ASSIGN_OR_RETURN(const Value less, c.Binary(OpKind::kSub, v, known));
    PLUMB_ASSIGN_OR_RETURN(const Value delta, c.Binary(OpKind::kMul, less, beta));
    PLUMB_ASSIGN_OR_RETURN(const Value row, c.Transpose(k, {0, 1, 3, 2}));
    PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kMul, delta, row));
    PLUMB_ASSIGN_OR_RETURN(state, c.Binary(OpKind::kAdd, kept, more));
    states.push_back(state);
    PLUMB_ASSIGN_OR_RETURN(const Value sum, Product(c, state, q));
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(t.size)));
    PLUMB_ASSIGN_OR_RETURN(const Value read, c.Binary(OpKind::kMul, sum, c.ConstFloat(scale)));
    reads.push_back(read);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> newest, NewestStates(c, states));
  return SetReadsAndStates(c, t, reads, newest);
}

// states [slots, heads, size, n], x, dt, A [heads, 1 or n], B and C of groups of heads, the slot of each sequence:
// d = softplus(dt), state = exp(d A) state + d x B', y = state C.
Status MapGgmlSSM_SCAN(NodeContext& c) {
  Value x[6];
  for (size_t i = 0; i < 6; ++i) {
    PLUMB_ASSIGN_OR_RETURN(x[i], FourDims(c, c.In(i)));
  }
  const Shape of_state = c.ShapeOf(x[0]), of_x = c.ShapeOf(x[1]), of_a = c.ShapeOf(x[3]);
  const Tokens t = {of_x[0], of_x[1], of_x[2], of_x[3]};
  PLUMB_RETURN_IF_ERROR(CheckTokens(t));
  if (c.ShapeOf(6).NumElements() != t.sequences || of_state[1] != t.heads || of_state[2] != t.size ||
      of_a[2] != t.heads || (of_a[3] != 1 && of_a[3] != of_state[3]) ||
      c.ShapeOf(x[2]).NumElements() != t.sequences * t.count * t.heads) {
    return Status::CorruptModel(
        fmt::format("states {} and decays {} for {}", of_state.ToString(), of_a.ToString(), of_x.ToString()));
  }
  auto gather = std::make_shared<GatherParam>();
  gather->indices_in_resource = false;
  PLUMB_ASSIGN_OR_RETURN(const Value slots, c.Reshape(c.In(6), {t.sequences}));
  PLUMB_ASSIGN_OR_RETURN(Value state, c.Emit(OpKind::kGather, gather, {x[0], slots}));
  PLUMB_ASSIGN_OR_RETURN(const Value a, c.Reshape(x[3], {1, t.heads, 1, of_a[3]}));
  PLUMB_ASSIGN_OR_RETURN(const Value dt, c.Reshape(x[2], {t.sequences, t.count, t.heads, 1}));
  PLUMB_ASSIGN_OR_RETURN(const Value steps, GgmlSoftplus(c, dt));
  std::vector<Value> reads, states;
  for (int64_t at = 0; at < t.count; ++at) {
    PLUMB_ASSIGN_OR_RETURN(const Value d, OfToken(c, steps, at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value u, OfToken(c, x[1], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value few_b, OfToken(c, x[4], at, false));
    PLUMB_ASSIGN_OR_RETURN(const Value few_c, OfToken(c, x[5], at, true));
    PLUMB_ASSIGN_OR_RETURN(const Value b, RepeatHeads(c, few_b, t.heads));
    PLUMB_ASSIGN_OR_RETURN(const Value out, RepeatHeads(c, few_c, t.heads));
    PLUMB_ASSIGN_OR_RETURN(const Value power, c.Binary(OpKind::kMul, d, a));
    PLUMB_ASSIGN_OR_RETURN(const Value decay, c.Emit(OpKind::kExp, nullptr, {power}));
    PLUMB_ASSIGN_OR_RETURN(const Value kept, c.Binary(OpKind::kMul, state, decay));
    PLUMB_ASSIGN_OR_RETURN(const Value scaled, c.Binary(OpKind::kMul, u, d));
    PLUMB_ASSIGN_OR_RETURN(const Value more, c.Binary(OpKind::kMul, scaled, b));
    PLUMB_ASSIGN_OR_RETURN(state, c.Binary(OpKind::kAdd, kept, more));
    states.push_back(state);
    PLUMB_ASSIGN_OR_RETURN(const Value read, Product(c, state, out));
    reads.push_back(read);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> newest, NewestStates(c, states));
  return SetReadsAndStates(c, t, reads, newest);
}

// NOLINTEND(readability-identifier-naming)
}  // namespace plumb::onnx
