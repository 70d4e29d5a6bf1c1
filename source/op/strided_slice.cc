// SPDX-License-Identifier: Apache-2.0
#include "op/strided_slice.h"

#include <fmt/core.h>

#include <algorithm>

#include "op/core/strided.h"

namespace plumb {
namespace {

// One axis of a slice.
struct Cut {
  int64_t begin, end, stride;
};

// Cuts dim `axis` of the map. Negative positions count from the back, those outside the axis are moved to its border.
Status CutAxis(const Cut& cut, int axis, StridedMap* map) {
  const auto i = static_cast<size_t>(axis);
  const int64_t dim = map->dims[i];
  if (cut.stride == 0) return Status::InvalidArgument(fmt::format("the stride of axis {} is 0", axis));
  const int64_t lowest = cut.stride > 0 ? 0 : -1;
  const int64_t highest = cut.stride > 0 ? dim : dim - 1;
  const auto place = [&](int64_t position) {
    return std::clamp(position < 0 ? position + dim : position, lowest, highest);
  };
  const int64_t begin = place(cut.begin);
  const int64_t end = place(cut.end);
  const int64_t span = cut.stride > 0 ? end - begin : begin - end;
  const int64_t step = std::abs(cut.stride);
  const int64_t count = span <= 0 ? 0 : (span + step - 1) / step;
  if (count > 0) map->offset += begin * map->strides[i];
  map->strides[i] *= cut.stride;
  map->dims[i] = count;
  map->out[axis] = count;
  return Status::Ok();
}

StridedMap Whole(const Shape& in) {
  StridedMap map;
  map.out = in;
  map.dims = in.dims();
  map.strides = DenseStrides(in);
  return map;
}

Result<StridedMap> Slice(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const auto& p = ParamOf<StridedSliceParam>(layer);
  const Shape& in = inputs[0].shape;
  const auto rank = static_cast<size_t>(in.rank());
  if (p.begins.size() != rank || p.ends.size() != rank || p.strides.size() != rank) {
    return Status::InvalidArgument(fmt::format("input {} needs {} begins, ends and strides, found {}, {} and {}",
                                               in.ToString(), rank, p.begins.size(), p.ends.size(), p.strides.size()));
  }
  const bool sized = inputs.size() == 2;
  if (sized && inputs[1].shape.rank() != in.rank()) {
    return Status::InvalidArgument(
        fmt::format("the reference {} has another rank than {}", inputs[1].shape.ToString(), in.ToString()));
  }
  StridedMap map = Whole(in);
  for (int i = 0; i < in.rank(); ++i) {
    const auto u = static_cast<size_t>(i);
    Cut cut{p.begins[u], p.ends[u] == 0 ? in[i] : p.ends[u], p.strides[u]};
    if (cut.begin < 0) cut.begin += in[i];
    if (sized) cut = {cut.begin, cut.begin + inputs[1].shape[i], 1};
    if (cut.stride < 0)
      return Status::InvalidArgument(fmt::format("stride {} is negative; StridedSliceV2 takes those", cut.stride));
    if (cut.begin < 0 || cut.begin > in[i] || (sized && cut.end > in[i])) {
      return Status::InvalidArgument(
          fmt::format("the slice {} .. {} of dim {} is outside {}", cut.begin, cut.end, i, in.ToString()));
    }
    PLUMB_RETURN_IF_ERROR(CutAxis(cut, i, &map));
  }
  return map;
}

Result<StridedMap> SliceV2(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const auto& p = ParamOf<StridedSliceV2Param>(layer);
  std::vector<int64_t> begins(p.begins.begin(), p.begins.end());
  std::vector<int64_t> ends(p.ends.begin(), p.ends.end());
  if (inputs.size() > 1) {
    PLUMB_ASSIGN_OR_RETURN(begins, KnownInts(inputs[1], "the begins of StridedSliceV2"));
  }
  if (inputs.size() > 2) {
    PLUMB_ASSIGN_OR_RETURN(ends, KnownInts(inputs[2], "the ends of StridedSliceV2"));
  }
  const size_t count = begins.size();
  if (ends.size() != count || (!p.axes.empty() && p.axes.size() != count) ||
      (!p.strides.empty() && p.strides.size() != count)) {
    return Status::InvalidArgument(fmt::format("there are {} begins, {} ends, {} axes and {} strides", count,
                                               ends.size(), p.axes.size(), p.strides.size()));
  }
  const Shape& in = inputs[0].shape;
  StridedMap map = Whole(in);
  std::vector<bool> seen(static_cast<size_t>(in.rank()), false);
  for (size_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axes.empty() ? static_cast<int>(i) : p.axes[i], in.rank()));
    if (seen[static_cast<size_t>(axis)]) return Status::InvalidArgument(fmt::format("axis {} is sliced twice", axis));
    seen[static_cast<size_t>(axis)] = true;
    PLUMB_RETURN_IF_ERROR(CutAxis({begins[i], ends[i], p.strides.empty() ? 1 : p.strides[i]}, axis, &map));
  }
  return map;
}

}  // namespace

OpDef DefineStridedSlice() { return DefineByMap(MakeParam<StridedSliceParam>, Slice); }
OpDef DefineStridedSliceV2() { return DefineByMap(MakeParam<StridedSliceV2Param>, SliceV2); }

}  // namespace plumb
