// SPDX-License-Identifier: Apache-2.0
#include "op/permute.h"

#include <fmt/core.h>

#include <algorithm>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<StridedMap> MapPermute(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const Shape& in = inputs[0].shape;
  std::vector<int> order = ParamOf<PermuteParam>(layer).orders;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool twice = std::find(order.begin(), order.begin() + static_cast<int64_t>(i), order[i]) !=
                       order.begin() + static_cast<int64_t>(i);
    if (order[i] < 0 || order[i] >= in.rank() || twice) {
      return Status::InvalidArgument(fmt::format("order {}{} a permutation of {}", order[i],
                                                 twice ? " stands twice in" : " is no dim of", in.ToString()));
    }
  }
  for (int i = 0; i < in.rank(); ++i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  }
  std::vector<int64_t> dims;
  for (const int source : order) dims.push_back(in[source]);
  return Transposed(in.dims(), order, Shape(std::move(dims)));
}

}  // namespace

OpDef DefinePermute() { return DefineByMap(MakeParam<PermuteParam>, MapPermute); }

}  // namespace plumb
