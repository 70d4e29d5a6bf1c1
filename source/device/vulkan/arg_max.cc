// SPDX-License-Identifier: Apache-2.0
// ArgMaxOrMin, row by row (row_lanes.h): arg_max.comp.
#include "op/arg_max.h"

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/row_lanes.h"

namespace plumb::vulkan {
namespace {

constexpr int kArgMaxPasses = 1;  // how often the shader walks its row

Status SupportsArgMax(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireNumber(spec));
  const Shape& shape = spec.inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ArgMaxParam>(spec.layer()).axis, shape.rank()));
  return RequireRow(spec, shape[axis], kArgMaxPasses);
}

Status BuildArgMax(Builder* b) {
  const auto& p = ParamOf<ArgMaxParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(p.axis, shape.rank()));
  b->launches.push_back(RowLaunch(b, "arg_max" + DTypeSuffix(b->inputs[0].dtype), axis, axis + 1, kArgMaxPasses,
                                  {p.mode == 1 ? 1u : 0u, p.select_last_index ? 1u : 0u}));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_arg_max = {SupportsArgMax, BuildArgMax};

}  // namespace plumb::vulkan
