// SPDX-License-Identifier: Apache-2.0
#include "op/expand.h"

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<StridedMap> MapExpand(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const std::vector<int>& tokens = ParamOf<ExpandParam>(layer).shape;
  std::vector<int64_t> wanted(tokens.begin(), tokens.end());
  if (inputs.size() == 2) {
    PLUMB_ASSIGN_OR_RETURN(wanted, KnownInts(inputs[1], "the shape of Expand"));
  }
  for (int64_t& dim : wanted) dim = dim == -1 ? 1 : dim;
  const Shape target(std::move(wanted));
  PLUMB_RETURN_IF_ERROR(target.Validate().AddContext("the shape of Expand"));
  const Shape& in = inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(Shape out, BroadcastShapes(in, target));
  return BroadcastMap(in, std::move(out));
}

}  // namespace

OpDef DefineExpand() { return DefineByMap(MakeParam<ExpandParam>, MapExpand); }

}  // namespace plumb
