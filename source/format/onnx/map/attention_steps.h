// SPDX-License-Identifier: Apache-2.0
// What ONNX's Attention and com.microsoft's attentions are made of: heads split off and put together, a bias that
// forbids keys, the softmax of the scores.
#ifndef PLUMB_FORMAT_ONNX_MAP_ATTENTION_STEPS_H_
#define PLUMB_FORMAT_ONNX_MAP_ATTENTION_STEPS_H_

#include <cmath>
#include <string>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// [batch, length, heads * size] as [batch, heads, length, size]; `what` names it in the refusal.
Result<Value> SplitHeads(NodeContext& c, const Value& x, int64_t heads, const std::string& what);
// The way back.
Result<Value> JoinHeads(NodeContext& c, const Value& x);
// Each head of keys or values serves several of queries: it stands as often.
Result<Value> RepeatHeads(NodeContext& c, const Value& x, int64_t heads);

// A scalar of i64.
Result<Value> WholeNumber(NodeContext& c, int64_t value);

// What is added to the scores, once per reason; absent when nothing is.
class AttentionBias {
 public:
  AttentionBias(NodeContext& c, DType dtype) : c_(c), dtype_(dtype) {}

  Status Add(const Value& more);
  // `amount` where the condition holds, or does not.
  Status Forbid(const Value& where, float amount = -INFINITY) { return Choose(where, amount, 0); }
  Status Allow(const Value& where, float amount = -INFINITY) { return Choose(where, 0, amount); }
  // Query i stands at i + offset among the keys; what lies more than `right` before or `left` behind it is forbidden.
  // -1: as far as one likes. `offset` broadcasts against [queries, keys].
  Status Window(const Value& offset, int64_t queries, int64_t keys, int64_t left, int64_t right);
  const Value& total() const { return total_; }

 private:
  Status Choose(const Value& where, float yes, float no);

  NodeContext& c_;
  DType dtype_;
  Value total_;
};

// cap * tanh(scores / cap); a cap of 0 is none.
Result<Value> CapScores(NodeContext& c, const Value& scores, float cap);
Result<Value> SoftmaxOfRows(NodeContext& c, const Value& scores);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_ATTENTION_STEPS_H_
