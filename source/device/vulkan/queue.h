// SPDX-License-Identifier: Apache-2.0
// The queue: each thread collects dispatches; Flush submits them as one command buffer and waits. A command buffer is
// kept under the list of its dispatches' ids, so a network that nobody watches is recorded once and then only
// submitted. Threading: safe.
#ifndef PLUMB_DEVICE_VULKAN_QUEUE_H_
#define PLUMB_DEVICE_VULKAN_QUEUE_H_

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "device/vulkan/vulkan_api.h"

namespace plumb::vulkan {

class Context;

// One dispatch with everything bound. Ids are never used again.
struct Dispatch {
  uint64_t id = 0;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
  std::vector<uint32_t> push;
  uint32_t groups[3] = {1, 1, 1};
};

class Queue {
 public:
  Queue(Context* context, uint32_t family) : context_(context), family_(family) {}
  ~Queue();
  Status Init();

  static uint64_t NextId();
  // REQUIRES: the dispatch lives until this thread's next Flush or Drop, and is forgotten before it is destroyed.
  void Enqueue(const Dispatch* dispatch);
  // Submits what this thread enqueued and waits; nothing enqueued: no submission.
  Status Flush();
  // Throws away what this thread enqueued (a Forward that failed).
  void Drop();
  // Copies between buffers, at once.
  Status Copy(VkBuffer src, size_t src_offset, VkBuffer dst, size_t dst_offset, size_t bytes);
  void Forget(uint64_t id);

  uint64_t submissions() const { return submissions_; }

 private:
  using Trace = std::vector<uint64_t>;
  Result<VkCommandBuffer> Record(const std::vector<const Dispatch*>& dispatches);
  Result<VkCommandBuffer> NewCommands();
  Status EndCommands(VkCommandBuffer commands);
  Status Submit(VkCommandBuffer commands);
  void FreeAll();

  Context* context_;
  uint32_t family_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::map<std::thread::id, std::vector<const Dispatch*>> pending_;
  std::map<Trace, VkCommandBuffer> recorded_;
  std::atomic<uint64_t> submissions_{0};
};

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_QUEUE_H_
