// SPDX-License-Identifier: Apache-2.0
#include "op/shuffle_channel.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<StridedMap> MapShuffleChannel(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const int64_t group = ParamOf<ShuffleChannelParam>(layer).group;
  const Shape& in = inputs[0].shape;
  if (in.rank() < 2 || group < 1 || in[1] % group != 0) {
    return Status::InvalidArgument(
        fmt::format("input {} has no dim 1 that splits into {} groups", in.ToString(), group));
  }
  return Transposed({in[0], group, in[1] / group, in.CountFrom(2)}, {0, 2, 1, 3}, in);
}

}  // namespace

OpDef DefineShuffleChannel() { return DefineByMap(MakeParam<ShuffleChannelParam>, MapShuffleChannel); }

}  // namespace plumb
