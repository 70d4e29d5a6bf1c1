// SPDX-License-Identifier: Apache-2.0
// Attention as com.microsoft's operators have it: softmax(cap(scale * q k') + bias) v.
#ifndef PLUMB_FORMAT_ONNX_MAP_ATTEND_H_
#define PLUMB_FORMAT_ONNX_MAP_ATTEND_H_

#include "format/onnx/node_context.h"

namespace plumb::onnx {

struct AttendOptions {
  float scale = 0;  // 0: 1 / sqrt(size of a head)
  float cap = 0;    // 0: none
  Value bias;       // added to the scores
  Value sink;       // one more score per head [heads], which weighs but has no value
};

struct Attended {
  Value y;              // [batch, heads, queries, size of v]
  Value scores;         // [batch, heads, queries, keys], bias included
  Value probabilities;  // the same
};

// q, k, v: [batch, heads, length, size].
Result<Attended> Attend(NodeContext& c, const Value& q, const Value& k, const Value& v, const AttendOptions& options);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_ATTEND_H_
