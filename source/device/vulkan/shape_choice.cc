// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/shape_choice.h"

#include "device/shared/kernel_choice.h"
#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

constexpr char kShapes[] = "PLUMB_VULKAN_SHAPES";

}  // namespace

Status CheckShapeEnvironment() { return CpuShapesFromEnvironment(kShapes).status(); }

bool WantsCpuShapes(const KernelSpec& spec) {
  const auto wanted = CpuShapesFromEnvironment(kShapes);
  return wanted.ok() && wanted->has_value() ? **wanted : AdapterOf(spec).cpu;
}

Status RequireShape(const KernelSpec& spec, KernelShape shape) {
  const bool cpu = WantsCpuShapes(spec);
  if (cpu == (shape == KernelShape::kCpu)) return Status::Ok();
  return Status::NotSupported(cpu ? "is for GPUs (PLUMB_VULKAN_SHAPES=gpu takes it here too)"
                                  : "is for drivers on a CPU (PLUMB_VULKAN_SHAPES=cpu takes it here too)");
}

}  // namespace plumb::vulkan
