// SPDX-License-Identifier: Apache-2.0
// Device memory: buffers are pieces of large blocks, one VkBuffer and one allocation each, because drivers allow only
// some thousands of allocations. Threading: safe.
#ifndef PLUMB_DEVICE_VULKAN_MEMORY_H_
#define PLUMB_DEVICE_VULKAN_MEMORY_H_

#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "device/kernel.h"
#include "device/vulkan/launch.h"
#include "device/vulkan/vulkan_api.h"

namespace plumb::vulkan {

class Context;

// A piece of a block. Its id is never used again, so it may be part of a key.
class VulkanBuffer : public Buffer {
 public:
  VulkanBuffer(std::shared_ptr<Context> context, void* block, VkBuffer buffer, size_t offset, size_t size, size_t room,
               char* host);
  ~VulkanBuffer() override;
  size_t size() const override { return size_; }
  void* host() override { return host_; }  // null where the host cannot reach the memory

  VkBuffer handle() const { return buffer_; }
  size_t offset() const { return offset_; }  // of the piece within the block
  size_t room() const { return room_; }      // size rounded up
  uint64_t id() const { return id_; }

 private:
  std::shared_ptr<Context> context_;
  void* block_;
  VkBuffer buffer_;
  size_t offset_, size_, room_;
  char* host_;
  uint64_t id_;
};

class Memory {
 public:
  explicit Memory(Context* context) : context_(context) {}
  ~Memory();

  // OutOfMemory or NotSupported (more than one allocation may hold) with both sizes.
  Result<std::shared_ptr<VulkanBuffer>> Allocate(size_t bytes);
  // Memory that the host can reach, for copies to and from memory that it cannot.
  Result<std::shared_ptr<VulkanBuffer>> AllocateStaging(size_t bytes);

 private:
  friend class VulkanBuffer;
  struct Block {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    char* host = nullptr;
    size_t size = 0;
    bool staging = false;
    std::map<size_t, size_t> free;  // offset -> size
  };

  Result<std::shared_ptr<VulkanBuffer>> AllocateFrom(bool staging, size_t bytes);
  Result<Block*> AddBlock(bool staging, size_t bytes);
  Status FillBlock(bool staging, Block* block);
  Result<uint32_t> FindType(uint32_t allowed, bool staging, bool* host_visible) const;
  void Free(void* block, size_t offset, size_t size);
  void Destroy(Block* block);

  Context* context_;
  std::mutex mutex_;
  std::list<Block> blocks_;
};

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_MEMORY_H_
