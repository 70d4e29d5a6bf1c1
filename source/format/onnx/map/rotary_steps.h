// SPDX-License-Identifier: Apache-2.0
// The turning of pairs that ONNX's and com.microsoft's RotaryEmbedding share.
#ifndef PLUMB_FORMAT_ONNX_MAP_ROTARY_STEPS_H_
#define PLUMB_FORMAT_ONNX_MAP_ROTARY_STEPS_H_

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// The first entries of the last dim of x (rank 4), twice as many as cos and sin have, are pairs, side by side or one
// half behind the other: each is turned. cos and sin (rank 4) broadcast against x in the other dims.
Result<Value> RotatePairs(NodeContext& c, const Value& x, const Value& cos, const Value& sin, bool interleaved);

// Rows of a cos or sin cache [places, half] for places [batch, length], with a dim of 1 for the heads.
Result<Value> RowsAt(NodeContext& c, const Value& table, const Value& places);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_ROTARY_STEPS_H_
