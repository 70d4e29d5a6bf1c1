// SPDX-License-Identifier: Apache-2.0
// What several normalisations need.
#ifndef PLUMB_FORMAT_ONNX_MAP_NORM_STEPS_H_
#define PLUMB_FORMAT_ONNX_MAP_NORM_STEPS_H_

#include <vector>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// 1 / sqrt(mean(x^2) + epsilon) over the axes, which stay as dims of 1.
Result<Value> RootMeanSquareInverse(NodeContext& c, const Value& x, const std::vector<int>& axes, float epsilon);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_NORM_STEPS_H_
