// SPDX-License-Identifier: Apache-2.0
// The Vulkan functions that we call, loaded at run time from libvulkan.so.1: no link dependency, so that one binary
// runs with and without a driver. Included only by the files that speak to the driver; kernels see launch.h.
#ifndef PLUMB_DEVICE_VULKAN_VULKAN_API_H_
#define PLUMB_DEVICE_VULKAN_VULKAN_API_H_

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <string>

#include "plumb/status.h"

namespace plumb::vulkan {

// clang-format off
#define PLUMB_VK_GLOBAL_FUNCTIONS(X) \
  X(CreateInstance) X(EnumerateInstanceVersion) X(EnumerateInstanceLayerProperties)

#define PLUMB_VK_INSTANCE_FUNCTIONS(X) \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceFeatures2) \
  X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceMemoryProperties) X(CreateDevice) X(GetDeviceProcAddr)

#define PLUMB_VK_DEVICE_FUNCTIONS(X) \
  X(DestroyDevice) X(GetDeviceQueue) X(QueueSubmit) X(QueueWaitIdle) X(DeviceWaitIdle) \
  X(AllocateMemory) X(FreeMemory) X(MapMemory) X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) \
  X(BindBufferMemory) X(CreateBufferView) X(DestroyBufferView) \
  X(CreateShaderModule) X(DestroyShaderModule) X(CreatePipelineCache) X(DestroyPipelineCache) X(GetPipelineCacheData) \
  X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreatePipelineLayout) X(DestroyPipelineLayout) \
  X(CreateComputePipelines) X(DestroyPipeline) X(CreateDescriptorPool) X(DestroyDescriptorPool) \
  X(AllocateDescriptorSets) X(FreeDescriptorSets) X(UpdateDescriptorSets) \
  X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers) X(BeginCommandBuffer) \
  X(EndCommandBuffer) X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch) \
  X(CmdPipelineBarrier) X(CmdCopyBuffer) X(CreateFence) X(DestroyFence) X(WaitForFences) X(ResetFences)
// clang-format on

struct Api {
#define PLUMB_VK_MEMBER(name) PFN_vk##name name = nullptr;
  PLUMB_VK_GLOBAL_FUNCTIONS(PLUMB_VK_MEMBER)
  PLUMB_VK_INSTANCE_FUNCTIONS(PLUMB_VK_MEMBER)
  PLUMB_VK_DEVICE_FUNCTIONS(PLUMB_VK_MEMBER)
#undef PLUMB_VK_MEMBER
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
};

// Opens the loader and fills the global functions. NotFound names the package to install.
Status LoadGlobalFunctions(Api* api);
Status LoadInstanceFunctions(VkInstance instance, Api* api);
Status LoadDeviceFunctions(VkDevice device, Api* api);

// "VK_ERROR_DEVICE_LOST (-4)"
std::string ResultText(VkResult result);
// OK, or "vkQueueSubmit: VK_ERROR_DEVICE_LOST (-4)"; OutOfMemory for the two codes that mean it.
Status CheckResult(VkResult result, const char* function);

#define PLUMB_VK_RETURN_IF_ERROR(api, function, ...) \
  PLUMB_RETURN_IF_ERROR(::plumb::vulkan::CheckResult((api).function(__VA_ARGS__), "vk" #function))

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_VULKAN_API_H_
