// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "device/vulkan/context.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kBlockBytes = size_t{16} << 20;

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

}  // namespace

VulkanBuffer::VulkanBuffer(std::shared_ptr<Context> context, void* block, VkBuffer buffer, size_t offset, size_t size,
                           size_t room, char* host)
    : context_(std::move(context)),
      block_(block),
      buffer_(buffer),
      offset_(offset),
      size_(size),
      room_(room),
      host_(host),
      id_(NextId()) {}

VulkanBuffer::~VulkanBuffer() { context_->memory().Free(block_, offset_, room_); }

Memory::~Memory() {
  for (Block& block : blocks_) Destroy(&block);
}

void Memory::Destroy(Block* block) {
  const Api& api = context_->api();
  if (block->buffer != VK_NULL_HANDLE) api.DestroyBuffer(context_->device(), block->buffer, nullptr);
  if (block->memory != VK_NULL_HANDLE) api.FreeMemory(context_->device(), block->memory, nullptr);
}

Result<std::shared_ptr<VulkanBuffer>> Memory::Allocate(size_t bytes) { return AllocateFrom(false, bytes); }
Result<std::shared_ptr<VulkanBuffer>> Memory::AllocateStaging(size_t bytes) { return AllocateFrom(true, bytes); }

Result<std::shared_ptr<VulkanBuffer>> Memory::AllocateFrom(bool staging, size_t bytes) {
  const size_t room = (std::max<size_t>(bytes, 1) + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto take = [&](Block& block, std::map<size_t, size_t>::iterator piece) {
    const size_t offset = piece->first, left = piece->second - room;
    block.free.erase(piece);
    if (left > 0) block.free[offset + room] = left;
    char* host = block.host == nullptr ? nullptr : block.host + offset;
    return std::make_shared<VulkanBuffer>(context_->shared_from_this(), &block, block.buffer, offset, bytes, room,
                                          host);
  };
  for (Block& block : blocks_) {
    if (block.staging != staging) continue;
    for (auto piece = block.free.begin(); piece != block.free.end(); ++piece) {
      if (piece->second >= room) return take(block, piece);
    }
  }
  PLUMB_ASSIGN_OR_RETURN(Block * block, AddBlock(staging, std::max(room, room > kBlockBytes / 4 ? room : kBlockBytes)));
  return take(*block, block->free.begin());
}

Result<Memory::Block*> Memory::AddBlock(bool staging, size_t bytes) {
  const Adapter& adapter = context_->adapter();
  if (bytes > adapter.max_allocation) {
    return Status::OutOfMemory(
        fmt::format("one allocation of {} bytes is needed, and adapter '{}' gives at most {} (maxMemoryAllocationSize)",
                    bytes, adapter.name, adapter.max_allocation));
  }
  Block block;
  block.size = bytes;
  block.staging = staging;
  block.free[0] = bytes;
  const Status status = FillBlock(staging, &block);
  if (!status.ok()) {
    Destroy(&block);
    return status.AddContext(fmt::format("allocating {} bytes on '{}'", bytes, adapter.name));
  }
  blocks_.push_back(std::move(block));
  return &blocks_.back();
}

Status Memory::FillBlock(bool staging, Block* block) {
  const Api& api = context_->api();
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = block->size;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  PLUMB_VK_RETURN_IF_ERROR(api, CreateBuffer, context_->device(), &info, nullptr, &block->buffer);
  VkMemoryRequirements needs;
  api.GetBufferMemoryRequirements(context_->device(), block->buffer, &needs);
  bool host_visible = false;
  PLUMB_ASSIGN_OR_RETURN(const uint32_t type, FindType(needs.memoryTypeBits, staging, &host_visible));
  VkMemoryAllocateInfo memory{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  memory.allocationSize = needs.size;
  memory.memoryTypeIndex = type;
  PLUMB_VK_RETURN_IF_ERROR(api, AllocateMemory, context_->device(), &memory, nullptr, &block->memory);
  PLUMB_VK_RETURN_IF_ERROR(api, BindBufferMemory, context_->device(), block->buffer, block->memory, 0);
  if (!host_visible) return Status::Ok();
  void* host = nullptr;
  PLUMB_VK_RETURN_IF_ERROR(api, MapMemory, context_->device(), block->memory, 0, VK_WHOLE_SIZE, 0, &host);
  block->host = static_cast<char*>(host);
  return Status::Ok();
}

// Blobs: the device's own memory, mapped only where all of it is (a CPU or an integrated GPU). Staging: mapped, cached
// if there is such a type.
Result<uint32_t> Memory::FindType(uint32_t allowed, bool staging, bool* host_visible) const {
  VkPhysicalDeviceMemoryProperties properties;
  context_->api().GetPhysicalDeviceMemoryProperties(context_->physical_device(), &properties);
  constexpr uint32_t kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr uint32_t kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const uint32_t staged[] = {kMapped | kCached, kMapped};
  const uint32_t local[] = {kLocal | kMapped | kCached, kLocal, 0};
  for (const uint32_t* wanted = staging ? staged : local;; ++wanted) {
    for (uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
      const uint32_t flags = properties.memoryTypes[i].propertyFlags;
      if ((allowed >> i & 1) == 0 || (flags & *wanted) != *wanted) continue;
      *host_visible = (*wanted & kMapped) == kMapped;
      return i;
    }
    if (*wanted == (staging ? kMapped : 0u)) break;
  }
  return Status::DeviceError(fmt::format("adapter '{}' offers no memory type for buffers", context_->adapter().name));
}

void Memory::Free(void* owner, size_t offset, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Block* block = static_cast<Block*>(owner);
  auto next = block->free.lower_bound(offset);
  if (next != block->free.end() && offset + size == next->first) {
    size += next->second;
    next = block->free.erase(next);
  }
  if (next != block->free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      block->free.erase(before);
    }
  }
  block->free[offset] = size;
  if (size < block->size || block->size <= kBlockBytes) return;  // small blocks wait for the next network
  Destroy(block);
  blocks_.remove_if([&](const Block& b) { return &b == block; });
}

}  // namespace plumb::vulkan
