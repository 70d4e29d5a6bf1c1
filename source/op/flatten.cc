// SPDX-License-Identifier: Apache-2.0
#include "op/flatten.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<StridedMap> MapFlatten(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const Shape& in = inputs[0].shape;
  const int axis = ParamOf<FlattenParam>(layer).axis;
  if (axis < 0 || axis > in.rank()) {
    return Status::InvalidArgument(
        fmt::format("axis {} is outside 0 .. {} of input {}", axis, in.rank(), in.ToString()));
  }
  return SameOrder(Shape{in.Count(0, axis), in.CountFrom(axis)});
}

}  // namespace

OpDef DefineFlatten() { return DefineByMap(MakeParam<FlattenParam>, MapFlatten); }

}  // namespace plumb
