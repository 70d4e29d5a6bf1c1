// SPDX-License-Identifier: Apache-2.0
// The product of matrices that several mappers need.
#ifndef PLUMB_FORMAT_ONNX_MAP_PRODUCT_STEPS_H_
#define PLUMB_FORMAT_ONNX_MAP_PRODUCT_STEPS_H_

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// a x b as MatMul has it; a constant operand becomes the layer's weight.
Result<Value> Product(NodeContext& c, const Value& a, const Value& b);

// Of integers, as i32. A zero point per row of a (per column of b) has one entry per row (column); absent: 0.
Result<Value> IntegerProduct(NodeContext& c, const Value& a, const Value& b, const Value& a_zero, const Value& b_zero);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_PRODUCT_STEPS_H_
