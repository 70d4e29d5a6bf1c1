// SPDX-License-Identifier: Apache-2.0
// How many inputs and outputs an ONNX operator takes, and which must be there: checked once for every node, before
// anything else looks at it, so that no mapper finds an absent value where ONNX promises one.
//
// One letter per formal parameter, over all opsets since 7: r required, o optional, and as the last one + (one or more)
// or * (any number). "rro" is a convolution's inputs. An optional one may be an empty name or, at the end, left out.
#ifndef PLUMB_FORMAT_ONNX_ARITY_H_
#define PLUMB_FORMAT_ONNX_ARITY_H_

#include <vector>

#include "format/onnx/builder.h"

namespace plumb::onnx {

struct Arity {
  const char* inputs;
  const char* outputs;
};

// CorruptModel when the node has too few or too many, or a required input is an empty name. `inputs`: the values that
// the node's input names stand for; absent when the name is empty, or a function's parameter that its caller left out.
Status CheckArity(const Arity& arity, const NodeIr& node, const std::vector<Value>& inputs);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_ARITY_H_
