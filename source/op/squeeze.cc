// SPDX-License-Identifier: Apache-2.0
#include "op/squeeze.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

// Which of `rank` dims the axes name; each at most once.
Result<std::vector<bool>> Named(const std::vector<int>& axes, int rank) {
  std::vector<bool> named(static_cast<size_t>(rank), false);
  for (const int axis : axes) {
    PLUMB_ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, rank));
    if (named[static_cast<size_t>(i)]) return Status::InvalidArgument(fmt::format("axis {} is named twice", axis));
    named[static_cast<size_t>(i)] = true;
  }
  return named;
}

Result<StridedMap> Squeeze(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const Shape& in = inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> named, Named(ParamOf<SqueezeParam>(layer).axes, in.rank()));
  std::vector<int64_t> dims;
  for (int i = 0; i < in.rank(); ++i) {
    if (!named[static_cast<size_t>(i)]) {
      dims.push_back(in[i]);
    } else if (in[i] != 1) {
      return Status::InvalidArgument(
          fmt::format("cannot squeeze dim {} of {}: it is {}, not 1", i, in.ToString(), in[i]));
    }
  }
  return SameOrder(Shape(std::move(dims)));
}

Result<StridedMap> Unsqueeze(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const Shape& in = inputs[0].shape;
  const std::vector<int>& axes = ParamOf<SqueezeParam>(layer).axes;
  const int rank = in.rank() + static_cast<int>(axes.size());
  PLUMB_ASSIGN_OR_RETURN(const std::vector<bool> named, Named(axes, rank));
  std::vector<int64_t> dims;
  for (int i = 0, next = 0; i < rank; ++i) dims.push_back(named[static_cast<size_t>(i)] ? 1 : in[next++]);
  return SameOrder(Shape(std::move(dims)));
}

}  // namespace

OpDef DefineSqueeze() { return DefineByMap(MakeParam<SqueezeParam>, Squeeze); }
OpDef DefineUnsqueeze() { return DefineByMap(MakeParam<SqueezeParam>, Unsqueeze); }

}  // namespace plumb
