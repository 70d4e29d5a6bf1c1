// SPDX-License-Identifier: Apache-2.0
// Between integers and reals, per tensor or per entry of an axis, as com.microsoft's operators have it.
#ifndef PLUMB_FORMAT_ONNX_MAP_QUANTIZE_STEPS_H_
#define PLUMB_FORMAT_ONNX_MAP_QUANTIZE_STEPS_H_

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// Input i, or absent.
Value Given(NodeContext& c, size_t i);

// One layer each, per tensor; an absent zero point is 0. `type`: uint8 or int8.
Result<Value> Dequantized(NodeContext& c, const Value& q, const Value& scale, const Value& zero_point);
Result<Value> Quantized(NodeContext& c, const Value& x, const Value& scale, const Value& zero_point, int type);

// As DynamicQuantizeLinear: unsigned, the whole of x between 0 and 255.
struct DynamicQuantized {
  Value q, scale, zero_point;
};
Result<DynamicQuantized> QuantizeDynamically(NodeContext& c, const Value& x);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_QUANTIZE_STEPS_H_
