// SPDX-License-Identifier: Apache-2.0
#include "op/split_v.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

// The size of every piece along the axis.
Result<std::vector<int64_t>> Pieces(const SplitVParam& param, int64_t dim, size_t outputs) {
  if (param.slices.empty()) {
    const auto count = static_cast<int64_t>(outputs);
    if (dim % count != 0) {
      return Status::InvalidArgument(
          fmt::format("axis {} of length {} does not split into {} equal outputs", param.axis, dim, count));
    }
    return std::vector<int64_t>(outputs, dim / count);
  }
  std::vector<int64_t> pieces(param.slices.begin(), param.slices.end());
  if (pieces.size() != outputs) {
    return Status::InvalidArgument(fmt::format("there are {} slice sizes for {} outputs", pieces.size(), outputs));
  }
  int64_t sum = 0;
  for (const int64_t piece : pieces) {
    if (piece < 0) return Status::InvalidArgument(fmt::format("slice size {} is negative", piece));
    sum += piece;
  }
  if (sum != dim) {
    return Status::InvalidArgument(
        fmt::format("the slice sizes add up to {}, but axis {} has length {}", sum, param.axis, dim));
  }
  return pieces;
}

Result<StridedMap> MapSplitV(const Layer& layer, const std::vector<BlobInfo>& inputs, int output) {
  const auto& param = ParamOf<SplitVParam>(layer);
  const Shape& in = inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, in.rank()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> pieces, Pieces(param, in[axis], layer.outputs.size()));
  StridedMap map;
  map.strides = DenseStrides(in);
  for (int i = 0; i < output; ++i)
    map.offset += pieces[static_cast<size_t>(i)] * map.strides[static_cast<size_t>(axis)];
  map.out = in;
  map.out[axis] = pieces[static_cast<size_t>(output)];
  map.dims = map.out.dims();
  return map;
}

}  // namespace

OpDef DefineSplitV() { return DefineByMap(MakeParam<SplitVParam>, MapSplitV); }

}  // namespace plumb
