#include "device/vulkan/shape_choice.h"

#include <cstdlib>
#include <string>

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {
namespace {

std::string WantedShapeChoice() {
  const char* text = std::getenv("PLUMB_VULKAN_SHAPES");
  return text == nullptr ? "" : text;
}

}  // namespace

Status CheckShapeEnvironment() {
  const std::string wanted = WantedShapeChoice();
  if (wanted.empty() || wanted == "cpu" || wanted == "gpu") return Status::Ok();
  return Status::InvalidArgument("PLUMB_VULKAN_SHAPES is cpu or gpu, found '" + wanted + "'");
}

bool WantsCpuShapes(const KernelSpec& spec) {
  const std::string wanted = WantedShapeChoice();
  return wanted.empty() ? AdapterOf(spec).cpu : wanted == "cpu";
}

Status RequireShape(const KernelSpec& spec, KernelShape shape) {
  const bool cpu = WantsCpuShapes(spec);
  if (cpu == (shape == KernelShape::kCpu)) return Status::Ok();
  return Status::NotSupported(cpu ? "is for GPUs (PLUMB_VULKAN_SHAPES=gpu takes it here too)"
                                  : "is for drivers on a CPU (PLUMB_VULKAN_SHAPES=cpu takes it here too)");
}

}  // namespace plumb::vulkan
