// SPDX-License-Identifier: Apache-2.0
// A layer with default parameters, for graphs that tests build by hand.
#ifndef PLUMB_TEST_UTIL_MAKE_LAYER_H_
#define PLUMB_TEST_UTIL_MAKE_LAYER_H_

#include <string>
#include <utility>
#include <vector>

#include "op/core/op.h"

namespace plumb {

inline Layer MakeLayer(OpKind kind, std::string name, std::vector<std::string> in, std::vector<std::string> out) {
  Layer layer;
  layer.kind = kind;
  layer.type = GetOp(kind).name;
  layer.name = std::move(name);
  layer.inputs = std::move(in);
  layer.outputs = std::move(out);
  layer.param = GetOp(kind).make_param();
  return layer;
}

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_MAKE_LAYER_H_
