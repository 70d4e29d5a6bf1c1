// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/launch.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/vulkan/context.h"
#include "device/vulkan/memory.h"
#include "device/vulkan/pipelines.h"
#include "device/vulkan/queue.h"

namespace plumb::vulkan {
namespace {

struct Slice {
  uint64_t id = 0;  // of the buffer
  VkBuffer buffer = VK_NULL_HANDLE;
  size_t offset = 0, bytes = 0;  // within the VkBuffer
  bool operator==(const Slice& other) const { return id == other.id && offset == other.offset && bytes == other.bytes; }
};

Slice SliceOf(const Buffer& buffer, size_t offset, size_t bytes) {
  const auto& b = static_cast<const VulkanBuffer&>(buffer);
  // Whole words: shaders of narrow types read and write bytes, but a descriptor covers words.
  const size_t whole = std::max<size_t>(16, (bytes + 15) / 16 * 16);
  return {b.id(), b.handle(), b.offset() + offset, std::min(whole, b.room() - offset)};
}

class BoundLaunch : public Launch {
 public:
  BoundLaunch(std::shared_ptr<Context> context, LaunchSpec spec)
      : context_(std::move(context)), spec_(std::move(spec)) {}
  ~BoundLaunch() override { Release(); }

  Status Init() {
    std::vector<bool> texels;
    for (const Argument& argument : spec_.arguments) texels.push_back(argument.view != Argument::kStorage);
    if (spec_.push.words().size() * 4 > kPushBytes)
      return Status::Internal("too many push constants for " + spec_.shader);
    PLUMB_ASSIGN_OR_RETURN(pipeline_, context_->pipelines().Get(spec_.shader, spec_.constants, texels));
    for (const uint32_t groups : spec_.groups) {
      if (groups > context_->adapter().max_groups) {
        return Status::NotSupported(fmt::format("shader {} needs {} workgroups, and the adapter runs {}", spec_.shader,
                                                groups, context_->adapter().max_groups));
      }
    }
    return Status::Ok();
  }

  Status Bind(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    std::vector<Slice> slices = Slices(inputs, outputs);
    if (dispatch_.id != 0 && slices == bound_) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(CheckSizes(slices));
    if (dispatch_.id != 0) PLUMB_RETURN_IF_ERROR(context_->queue().Flush());  // it may still be waiting to run
    Release();
    bound_ = std::move(slices);
    PLUMB_RETURN_IF_ERROR(WriteSet());
    dispatch_.pipeline = pipeline_->pipeline;
    dispatch_.layout = pipeline_->layout;
    dispatch_.push = spec_.push.words();
    std::copy(std::begin(spec_.groups), std::end(spec_.groups), dispatch_.groups);
    dispatch_.id = Queue::NextId();
    return context_->TakeMessages();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    PLUMB_RETURN_IF_ERROR(Bind(inputs, outputs));
    context_->queue().Enqueue(&dispatch_);
    return Status::Ok();
  }

 private:
  std::vector<Slice> Slices(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) const {
    std::vector<Slice> slices;
    for (const Argument& argument : spec_.arguments) {
      if (argument.from == Argument::kOwn) {
        slices.push_back(SliceOf(*argument.own, argument.offset, argument.bytes));
        continue;
      }
      const DeviceTensor& tensor =
          (argument.from == Argument::kInput ? inputs : outputs)[static_cast<size_t>(argument.index)];
      slices.push_back(SliceOf(*tensor.buffer, tensor.offset, tensor.bytes()));
    }
    return slices;
  }

  Status CheckSizes(const std::vector<Slice>& slices) const {
    const Adapter& adapter = context_->adapter();
    for (size_t i = 0; i < slices.size(); ++i) {
      const bool texels = spec_.arguments[i].view != Argument::kStorage;
      const uint64_t texel = spec_.arguments[i].view == Argument::kTexelsF16x4 ? 8 : 16;
      const uint64_t limit = texels ? adapter.max_texels * texel : adapter.max_storage_range;
      if (slices[i].bytes <= limit) continue;
      return Status::NotSupported(fmt::format(
          "a tensor of {} bytes is needed at once, and adapter '{}' binds at most {} ({}); use a smaller batch or "
          "input, or another device",
          slices[i].bytes, adapter.name, limit, texels ? "maxTexelBufferElements" : "maxStorageBufferRange"));
    }
    return Status::Ok();
  }

  Status WriteSet() {
    const Api& api = context_->api();
    PLUMB_ASSIGN_OR_RETURN(dispatch_.set, NewSet());
    views_.assign(bound_.size(), VK_NULL_HANDLE);
    std::vector<VkDescriptorBufferInfo> infos(bound_.size());
    std::vector<VkWriteDescriptorSet> writes(bound_.size());
    for (size_t i = 0; i < bound_.size(); ++i) {
      writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
      writes[i].dstSet = dispatch_.set;
      writes[i].dstBinding = static_cast<uint32_t>(i);
      writes[i].descriptorCount = 1;
      if (spec_.arguments[i].view == Argument::kStorage) {
        infos[i] = {bound_[i].buffer, bound_[i].offset, bound_[i].bytes};
        writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &infos[i];
        continue;
      }
      VkBufferViewCreateInfo view{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
      view.buffer = bound_[i].buffer;
      view.format = spec_.arguments[i].view == Argument::kTexelsF16x4 ? VK_FORMAT_R16G16B16A16_SFLOAT
                                                                      : VK_FORMAT_R32G32B32A32_SFLOAT;
      view.offset = bound_[i].offset;
      view.range = bound_[i].bytes;
      PLUMB_VK_RETURN_IF_ERROR(api, CreateBufferView, context_->device(), &view, nullptr, &views_[i]);
      writes[i].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
      writes[i].pTexelBufferView = &views_[i];
    }
    api.UpdateDescriptorSets(context_->device(), static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
    return Status::Ok();
  }

  // A pool of its own per launch: pools are cheap, and no lock or free list is needed.
  Result<VkDescriptorSet> NewSet() {
    const Api& api = context_->api();
    uint32_t storage = 0, texels = 0;
    for (const Argument& argument : spec_.arguments) ++(argument.view == Argument::kStorage ? storage : texels);
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, storage},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, texels}};
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = texels > 0 ? 2 : 1;
    pool.pPoolSizes = sizes;
    PLUMB_VK_RETURN_IF_ERROR(api, CreateDescriptorPool, context_->device(), &pool, nullptr, &pool_);
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = pool_;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &pipeline_->set_layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    PLUMB_VK_RETURN_IF_ERROR(api, AllocateDescriptorSets, context_->device(), &info, &set);
    return set;
  }

  void Release() {
    const Api& api = context_->api();
    if (dispatch_.id != 0) context_->queue().Forget(dispatch_.id);
    dispatch_.id = 0;
    for (const VkBufferView view : views_) api.DestroyBufferView(context_->device(), view, nullptr);
    views_.clear();
    if (pool_ != VK_NULL_HANDLE) api.DestroyDescriptorPool(context_->device(), pool_, nullptr);
    pool_ = VK_NULL_HANDLE;
  }

  std::shared_ptr<Context> context_;
  LaunchSpec spec_;
  const Pipeline* pipeline_ = nullptr;
  Dispatch dispatch_;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkBufferView> views_;
  std::vector<Slice> bound_;
};

}  // namespace

void LaunchSpec::Over(int64_t count, uint32_t group) {
  constexpr int64_t kMaxColumns = 65535;  // every driver's least maxComputeWorkGroupCount
  const int64_t needed = std::max<int64_t>(1, (count + group - 1) / group);
  groups[0] = static_cast<uint32_t>(std::min(needed, kMaxColumns));
  groups[1] = static_cast<uint32_t>((needed + groups[0] - 1) / groups[0]);
}

Result<std::unique_ptr<Launch>> Launch::Create(std::shared_ptr<Context> context, LaunchSpec spec) {
  auto launch = std::make_unique<BoundLaunch>(std::move(context), std::move(spec));
  PLUMB_RETURN_IF_ERROR(launch->Init());
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace plumb::vulkan
