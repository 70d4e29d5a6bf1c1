// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/vulkan_api.h"

#include <fmt/core.h>

#include <dlfcn.h>

namespace plumb::vulkan {
namespace {

Status Missing(const char* function) {
  return Status::NotFound(fmt::format("the Vulkan driver lacks the function {}; Vulkan 1.1 is needed", function));
}

}  // namespace

Status LoadGlobalFunctions(Api* api) {
  static void* const library = [] {  // stays open: drivers hold threads
    void* opened = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return opened != nullptr ? opened : dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);  // its name on Android
  }();
  if (library == nullptr) {
    return Status::NotFound(
        "device VULKAN needs libvulkan.so.1, which cannot be opened; install the packages "
        "libvulkan1 and mesa-vulkan-drivers (or your GPU's driver)");
  }
  api->GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (api->GetInstanceProcAddr == nullptr) return Missing("vkGetInstanceProcAddr");
#define PLUMB_VK_LOAD(name)                                                                         \
  api->name = reinterpret_cast<PFN_vk##name>(api->GetInstanceProcAddr(VK_NULL_HANDLE, "vk" #name)); \
  if (api->name == nullptr) return Missing("vk" #name);
  PLUMB_VK_GLOBAL_FUNCTIONS(PLUMB_VK_LOAD)
#undef PLUMB_VK_LOAD
  return Status::Ok();
}

Status LoadInstanceFunctions(VkInstance instance, Api* api) {
#define PLUMB_VK_LOAD(name)                                                                   \
  api->name = reinterpret_cast<PFN_vk##name>(api->GetInstanceProcAddr(instance, "vk" #name)); \
  if (api->name == nullptr) return Missing("vk" #name);
  PLUMB_VK_INSTANCE_FUNCTIONS(PLUMB_VK_LOAD)
#undef PLUMB_VK_LOAD
  return Status::Ok();
}

Status LoadDeviceFunctions(VkDevice device, Api* api) {
#define PLUMB_VK_LOAD(name)                                                               \
  api->name = reinterpret_cast<PFN_vk##name>(api->GetDeviceProcAddr(device, "vk" #name)); \
  if (api->name == nullptr) return Missing("vk" #name);
  PLUMB_VK_DEVICE_FUNCTIONS(PLUMB_VK_LOAD)
#undef PLUMB_VK_LOAD
  return Status::Ok();
}

std::string ResultText(VkResult result) {
  const char* name = "VkResult";
  switch (result) {
#define PLUMB_VK_RESULT(code) \
  case code: name = #code; break;
    PLUMB_VK_RESULT(VK_SUCCESS)
    PLUMB_VK_RESULT(VK_NOT_READY)
    PLUMB_VK_RESULT(VK_TIMEOUT)
    PLUMB_VK_RESULT(VK_INCOMPLETE)
    PLUMB_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
    PLUMB_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    PLUMB_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED)
    PLUMB_VK_RESULT(VK_ERROR_DEVICE_LOST)
    PLUMB_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
    PLUMB_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
    PLUMB_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
    PLUMB_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
    PLUMB_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
    PLUMB_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
    PLUMB_VK_RESULT(VK_ERROR_FRAGMENTED_POOL)
    PLUMB_VK_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY)
    PLUMB_VK_RESULT(VK_ERROR_UNKNOWN)
#undef PLUMB_VK_RESULT
    default: break;
  }
  return fmt::format("{} ({})", name, static_cast<int>(result));
}

Status CheckResult(VkResult result, const char* function) {
  if (result == VK_SUCCESS) return Status::Ok();
  const std::string message = fmt::format("{}: {}", function, ResultText(result));
  const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
  return memory ? Status::OutOfMemory(message) : Status::DeviceError(message);
}

}  // namespace plumb::vulkan
