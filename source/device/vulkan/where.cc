// SPDX-License-Identifier: Apache-2.0
// Where, for conditions of bool, i32 and i64: where.comp.
#include <fmt/core.h>

#include "device/shared/walk.h"
#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kWhereMaxRank = 7;

Walk WalkOfWhere(const KernelSpec& spec) {
  return BroadcastWalk({spec.inputs[0].shape.dims(), spec.inputs[1].shape.dims(), spec.inputs[2].shape.dims()},
                       spec.outputs[0].shape.dims());
}

Status SupportsWhere(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  const DType condition = spec.inputs[2].dtype;
  if (condition != DType::kBool && condition != DType::kI32 && condition != DType::kI64) {
    return Status::NotSupported(std::string("needs a condition of bool, i32 or i64, got ") + DTypeName(condition));
  }
  PLUMB_RETURN_IF_ERROR(RequireDType(spec, condition));
  PLUMB_RETURN_IF_ERROR(RequireDType(spec, spec.outputs[0].dtype));
  if (WalkOfWhere(spec).rank() > kWhereMaxRank) return Status::NotSupported("broadcasts over more than 7 dims");
  return Status::Ok();
}

Status BuildWhere(Builder* b) {
  const Walk walk = WalkOfWhere(b->spec);
  LaunchSpec launch;
  launch.shader = fmt::format("where{}{}", SizeSuffix(b->outputs[0].dtype), SizeSuffix(b->inputs[2].dtype));
  launch.constants = {static_cast<uint32_t>(walk.rank())};
  launch.arguments = {Argument::Output(0), Argument::Input(0), Argument::Input(1), Argument::Input(2)};
  const int64_t count = b->outputs[0].shape.NumElements();
  launch.push.Int(count).Ints(walk.dims, kWhereMaxRank);
  for (const auto& strides : walk.strides) launch.push.Ints(strides, kWhereMaxRank);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_where = {SupportsWhere, BuildWhere};

}  // namespace plumb::vulkan
