// SPDX-License-Identifier: Apache-2.0
#include "op/grid_sample.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferGridSample(ShapeContext& context) {
  const auto& p = ParamOf<GridSampleParam>(context.layer);
  const Shape &x = context.shape(0), &grid = context.shape(1);
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  if (p.mode < 1 || p.mode > 3 || p.pad_type < 0 || p.pad_type > 2) {
    return Status::InvalidArgument(
        fmt::format("mode {} and pad_type {} must be in 1 .. 3 and 0 .. 2", p.mode, p.pad_type));
  }
  const int spatial = x.rank() - 2;
  if (context.inputs[1].dtype != context.inputs[0].dtype || spatial < 1 || grid.rank() != spatial + 2 ||
      grid[0] != x[0] || grid[spatial + 1] != spatial) {
    return Status::InvalidArgument(
        fmt::format("expects x [N, C, spatial ...] and a grid [N, out ..., rank] of its dtype, found {} and {}",
                    x.ToString(), grid.ToString()));
  }
  if (p.mode == 3 && spatial != 2) return Status::NotSupported("cubic sampling takes 2 spatial dims only");
  Shape out{x[0], x[1]};
  for (int d = 0; d < spatial; ++d) {
    out.dims().push_back(grid[d + 1]);
    if (x[d + 2] == 0) return Status::InvalidArgument("cannot sample an empty " + x.ToString());
  }
  PLUMB_RETURN_IF_ERROR(out.Validate());
  context.SetAll(context.inputs[0].dtype, out);
  return Status::Ok();
}

}  // namespace

OpDef DefineGridSample() {
  OpDef op;
  op.make_param = MakeParam<GridSampleParam>;
  op.infer = InferGridSample;
  return op;
}

}  // namespace plumb
