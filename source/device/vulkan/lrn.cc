// SPDX-License-Identifier: Apache-2.0
// LRN, which looks at neighbouring channels: lrn.comp.
#include <algorithm>

#include "device/vulkan/kernel_list.h"
#include "device/vulkan/loop_rounds.h"
#include "op/lrn.h"

namespace plumb::vulkan {
namespace {

Status SupportsLrn(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  return RequireLoopRounds(spec,
                           std::min<int64_t>(ParamOf<LrnParam>(spec.layer()).size, spec.inputs[0].shape.DimOrOne(1)));
}

Status BuildLrn(Builder* b) {
  const auto& p = ParamOf<LrnParam>(b->layer());
  const Shape& shape = b->inputs[0].shape;
  LaunchSpec launch;
  launch.shader = "lrn";
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  launch.push.Int(shape.NumElements()).Int(shape.DimOrOne(1)).Int(shape.CountFrom(2)).Int(p.size);
  launch.push.Float(p.alpha).Float(p.beta).Float(p.bias);
  launch.Over(shape.NumElements());
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_lrn = {SupportsLrn, BuildLrn};

}  // namespace plumb::vulkan
