// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/queue.h"

#include <algorithm>

#include "device/vulkan/context.h"

namespace plumb::vulkan {
namespace {

constexpr size_t kMaxRecorded = 4096;  // then all are dropped and recorded again

}  // namespace

uint64_t Queue::NextId() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

Status Queue::Init() {
  const Api& api = context_->api();
  api.GetDeviceQueue(context_->device(), family_, 0, &queue_);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = family_;
  PLUMB_VK_RETURN_IF_ERROR(api, CreateCommandPool, context_->device(), &pool, nullptr, &pool_);
  const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  PLUMB_VK_RETURN_IF_ERROR(api, CreateFence, context_->device(), &fence, nullptr, &fence_);
  return Status::Ok();
}

Queue::~Queue() {
  const Api& api = context_->api();
  if (fence_ != VK_NULL_HANDLE) api.DestroyFence(context_->device(), fence_, nullptr);
  if (pool_ != VK_NULL_HANDLE) api.DestroyCommandPool(context_->device(), pool_, nullptr);
}

void Queue::Enqueue(const Dispatch* dispatch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_[std::this_thread::get_id()].push_back(dispatch);
}

void Queue::Drop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_.erase(std::this_thread::get_id());
}

Status Queue::Flush() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto it = pending_.find(std::this_thread::get_id());
    if (it == pending_.end() || it->second.empty()) return Status::Ok();
    const std::vector<const Dispatch*> dispatches = std::move(it->second);
    it->second.clear();
    Trace trace;
    for (const Dispatch* dispatch : dispatches) trace.push_back(dispatch->id);
    auto found = recorded_.find(trace);
    if (found == recorded_.end()) {
      if (recorded_.size() >= kMaxRecorded) FreeAll();
      PLUMB_ASSIGN_OR_RETURN(const VkCommandBuffer commands, Record(dispatches));
      found = recorded_.emplace(std::move(trace), commands).first;
    }
    PLUMB_RETURN_IF_ERROR(Submit(found->second));
  }
  return context_->TakeMessages();
}

Result<VkCommandBuffer> Queue::NewCommands() {
  const Api& api = context_->api();
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  PLUMB_VK_RETURN_IF_ERROR(api, AllocateCommandBuffers, context_->device(), &info, &commands);
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  PLUMB_VK_RETURN_IF_ERROR(api, BeginCommandBuffer, commands, &begin);
  return commands;
}

// The host reads results without further calls, so the last barrier makes them visible to it.
Status Queue::EndCommands(VkCommandBuffer commands) {
  const Api& api = context_->api();
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  api.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  PLUMB_VK_RETURN_IF_ERROR(api, EndCommandBuffer, commands);
  return Status::Ok();
}

Result<VkCommandBuffer> Queue::Record(const std::vector<const Dispatch*>& dispatches) {
  const Api& api = context_->api();
  PLUMB_ASSIGN_OR_RETURN(const VkCommandBuffer commands, NewCommands());
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  for (const Dispatch* dispatch : dispatches) {
    if (dispatch != dispatches.front()) {
      api.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                             &barrier, 0, nullptr, 0, nullptr);
    }
    api.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch->pipeline);
    api.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch->layout, 0, 1, &dispatch->set, 0,
                              nullptr);
    if (!dispatch->push.empty()) {
      api.CmdPushConstants(commands, dispatch->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           static_cast<uint32_t>(dispatch->push.size() * 4), dispatch->push.data());
    }
    api.CmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
  }
  PLUMB_RETURN_IF_ERROR(EndCommands(commands));
  return commands;
}

Status Queue::Submit(VkCommandBuffer commands) {
  const Api& api = context_->api();
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  ++submissions_;
  PLUMB_VK_RETURN_IF_ERROR(api, QueueSubmit, queue_, 1, &submit, fence_);
  PLUMB_VK_RETURN_IF_ERROR(api, WaitForFences, context_->device(), 1, &fence_, VK_TRUE, UINT64_MAX);
  PLUMB_VK_RETURN_IF_ERROR(api, ResetFences, context_->device(), 1, &fence_);
  return Status::Ok();
}

Status Queue::Copy(VkBuffer src, size_t src_offset, VkBuffer dst, size_t dst_offset, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Api& api = context_->api();
  PLUMB_ASSIGN_OR_RETURN(const VkCommandBuffer commands, NewCommands());
  const VkBufferCopy region{src_offset, dst_offset, bytes};
  api.CmdCopyBuffer(commands, src, dst, 1, &region);
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  api.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier,
                         0, nullptr, 0, nullptr);
  Status status = EndCommands(commands);
  if (status.ok()) status = Submit(commands);
  api.FreeCommandBuffers(context_->device(), pool_, 1, &commands);
  return status;
}

void Queue::Forget(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = recorded_.begin(); it != recorded_.end();) {
    if (std::find(it->first.begin(), it->first.end(), id) == it->first.end()) {
      ++it;
      continue;
    }
    context_->api().FreeCommandBuffers(context_->device(), pool_, 1, &it->second);
    it = recorded_.erase(it);
  }
  for (auto& [thread, dispatches] : pending_) {
    dispatches.erase(
        std::remove_if(dispatches.begin(), dispatches.end(), [&](const Dispatch* d) { return d->id == id; }),
        dispatches.end());
  }
}

void Queue::FreeAll() {
  for (const auto& entry : recorded_) {
    context_->api().FreeCommandBuffers(context_->device(), pool_, 1, &entry.second);
  }
  recorded_.clear();
}

}  // namespace plumb::vulkan
