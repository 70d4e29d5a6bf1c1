// SPDX-License-Identifier: Apache-2.0
#include "op/tile.h"

#include <fmt/core.h>

#include <algorithm>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<StridedMap> MapTile(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const std::vector<int>& tokens = ParamOf<TileParam>(layer).repeats;
  std::vector<int64_t> repeats(tokens.begin(), tokens.end());
  if (inputs.size() == 2) {
    PLUMB_ASSIGN_OR_RETURN(repeats, KnownInts(inputs[1], "the repeats of Tile"));
  }
  std::vector<int64_t> in = inputs[0].shape.dims();
  const size_t rank = std::max(in.size(), repeats.size());
  in.insert(in.begin(), rank - in.size(), 1);
  repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  const std::vector<int64_t> strides = DenseStrides(Shape(in));
  StridedMap map;
  std::vector<int64_t> out;
  for (size_t i = 0; i < rank; ++i) {
    if (repeats[i] < 0 || repeats[i] > INT32_MAX) {
      return Status::InvalidArgument(fmt::format("repeat {} of dim {} is not in 0 .. 2^31 - 1", repeats[i], i));
    }
    out.push_back(in[i] * repeats[i]);
    map.dims.push_back(repeats[i]);
    map.strides.push_back(0);
    map.dims.push_back(in[i]);
    map.strides.push_back(strides[i]);
  }
  map.out = Shape(std::move(out));
  return map;
}

}  // namespace

OpDef DefineTile() { return DefineByMap(MakeParam<TileParam>, MapTile); }

}  // namespace plumb
