// SPDX-License-Identifier: Apache-2.0
// What the mappers of ggml's operators share. ggml has four dims, the innermost first; blobs have them the other way
// round, without leading ones.
#ifndef PLUMB_FORMAT_ONNX_MAP_GGML_STEPS_H_
#define PLUMB_FORMAT_ONNX_MAP_GGML_STEPS_H_

#include <string>
#include <vector>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// op_params, whose numbers are integers or the bits of floats.
int32_t GgmlInt(NodeContext& c, size_t i);
float GgmlFloat(NodeContext& c, size_t i);

// ggml's name of an input's type: "q4_K".
std::string GgmlTypeOf(NodeContext& c, size_t input);
// Whether ggml's CPU backend computed it.
bool OnGgmlCpu(NodeContext& c);

// With four dims. CorruptModel for more.
Result<Value> FourDims(NodeContext& c, const Value& value);
// The second one repeated to the first one's dims where these are no more than its multiples. Both have four.
Result<Value> RepeatedLike(NodeContext& c, const Value& value, const std::vector<int64_t>& dims);

// Rounded to a type of ggml that is stored in 16 bits (or handed through), still f32.
Result<Value> RoundedTo(NodeContext& c, const Value& value, const std::string& type);
// What ggml's CPU backend makes of activations before they meet weights of that type: rounded to 16 bits, or in blocks
// of 32 (Q8_0) or 256 (Q8_K) to 127 steps of the block's largest. NotSupported for a type that is not known. `beyond`,
// of weights above a least value (Q8_1): by how much each block's stored sum is more than that of its values.
Result<Value> AsOperandFor(NodeContext& c, const Value& x, const std::string& type, Value* beyond = nullptr);

// The node's output: in the shape and of the type that the manifest says.
Status SetGgml(NodeContext& c, const Value& y);

// log(1 + exp(x)), x from 20 on, as ggml computes it: small values lose what a softplus of one rounding keeps.
Result<Value> GgmlSoftplus(NodeContext& c, const Value& x);

// softmax(x * scale + slope(head) * mask) along the last dim. Values have four dims; `mask` may be absent.
Result<Value> MaskedSoftmax(NodeContext& c, const Value& scaled, const Value& mask, float max_bias);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_GGML_STEPS_H_
