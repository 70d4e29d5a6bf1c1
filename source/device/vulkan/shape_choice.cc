#include "device/vulkan/shape_choice.h"

#include <cstdlib>
#include <string>

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {

Status RequireShape(const KernelSpec& spec, KernelShape shape) {
  const char* text = std::getenv("PLUMB_VULKAN_SHAPE");
  const std::string wanted = text == nullptr ? "" : text;
  if (!wanted.empty() && wanted != "cpu" && wanted != "gpu") {
    return Status::InvalidArgument("PLUMB_VULKAN_SHAPE is cpu or gpu, found '" + wanted + "'");
  }
  const bool cpu = wanted.empty() ? AdapterOf(spec).cpu : wanted == "cpu";
  if (cpu == (shape == KernelShape::kCpu)) return Status::Ok();
  return Status::NotSupported(cpu ? "is for GPUs (PLUMB_VULKAN_SHAPE=gpu takes it here too)"
                                  : "is for drivers on a CPU (PLUMB_VULKAN_SHAPE=cpu takes it here too)");
}

}  // namespace plumb::vulkan
