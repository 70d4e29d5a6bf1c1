// SPDX-License-Identifier: Apache-2.0
// Upsample: nearest.comp for every dtype, upsample.comp for linear and cubic.
#include "op/upsample.h"

#include <fmt/core.h>

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

Status SupportsUpsample(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(spec.layer(), spec.inputs));
  const DType dtype = spec.inputs[0].dtype;
  if (s.mode != kUpsampleNearest && dtype != DType::kF32) {
    return Status::NotSupported(std::string("interpolates f32 only, found ") + DTypeName(dtype));
  }
  for (const int axis : {2, 3}) {
    if (s.in[axis] > 16384 || s.out[axis] > 16384) {
      return Status::NotSupported(fmt::format("resizes maps of at most 16384 rows and columns, got {} to {}",
                                              s.in.ToString(), s.out.ToString()));
    }
  }
  return RequireDType(spec, dtype);
}

Status BuildUpsample(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const UpsampleShape s, ResolveUpsample(b->layer(), b->spec.inputs));
  LaunchSpec launch;
  const bool nearest = s.mode == kUpsampleNearest;
  launch.shader = nearest ? "nearest" + SizeSuffix(b->inputs[0].dtype) : "upsample";
  if (!nearest) launch.constants = {static_cast<uint32_t>(s.mode), s.align_corners ? 1u : 0u};
  launch.arguments = {Argument::Output(0), Argument::Input(0)};
  const int64_t count = s.out.NumElements();
  launch.push.Int(count).Int(s.in[2]).Int(s.in[3]).Int(s.out[2]).Int(s.out[3]);
  launch.Over(count);
  b->launches.push_back(std::move(launch));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_upsample = {SupportsUpsample, BuildUpsample};

}  // namespace plumb::vulkan
