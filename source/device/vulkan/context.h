// SPDX-License-Identifier: Apache-2.0
// Context: one Vulkan device of this process, shared by all Devices opened on it: the logical device, its queue,
// memory, pipelines and submissions. Threading: every public function may be called from any thread.
#ifndef PLUMB_DEVICE_VULKAN_CONTEXT_H_
#define PLUMB_DEVICE_VULKAN_CONTEXT_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/vulkan/vulkan_api.h"

namespace plumb::vulkan {

class Memory;
class Pipelines;
class Queue;

// What the adapter can do, as far as kernels ask.
struct Adapter {
  std::string name;         // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string description;  // name, kind, Vulkan and driver version: one line for reports
  std::string identity;     // driver, device and versions: part of the pipeline cache's key
  bool cpu = false;         // a software driver
  bool int64 = false, float64 = false;
  bool storage8 = false, storage16 = false;  // and arithmetic in int8, int16
  uint64_t max_storage_range = 0, max_texels = 0, max_allocation = 0;
  uint32_t max_groups = 65535;
  uint32_t max_invocations = 128;  // of a workgroup along x
  int64_t max_loop_rounds = 0;     // of one invocation's loops together (loop_rounds.h); 0: no limit
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  // The context of adapter `index`, made once per process.
  static Result<std::shared_ptr<Context>> Open(int index);
  // One line per adapter, in index order.
  static Result<std::vector<std::string>> Adapters();

  Context() = default;
  ~Context();

  const Api& api() const { return api_; }
  VkDevice device() const { return device_; }
  VkPhysicalDevice physical_device() const { return physical_device_; }
  const Adapter& adapter() const { return adapter_; }
  Memory& memory() { return *memory_; }
  Pipelines& pipelines() { return *pipelines_; }
  Queue& queue() { return *queue_; }

  // Under PLUMB_VULKAN_VALIDATION=1: an error with the validation layer's messages since the last call.
  Status TakeMessages();
  void AddMessage(const char* text);

 private:
  Status CreateInstance();
  Status CreateDevice(int index);

  Api api_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  Adapter adapter_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Pipelines> pipelines_;
  std::unique_ptr<Queue> queue_;
  std::mutex mutex_;
  std::string messages_;
};

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_CONTEXT_H_
