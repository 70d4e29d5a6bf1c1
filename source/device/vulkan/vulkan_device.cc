// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/vulkan_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/convert.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/context.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/memory.h"
#include "device/vulkan/queue.h"
#include "device/vulkan/shape_choice.h"
#include "device/vulkan/winograd_choice.h"

namespace plumb {
namespace vulkan {

VulkanDevice::VulkanDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}
VulkanDevice::~VulkanDevice() = default;

std::string VulkanDevice::Description() const { return context_->adapter().description; }
const std::vector<KernelRow>& VulkanDevice::kernels() const { return KernelList(); }
bool VulkanDevice::Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const {
  return MayFuse(group, next, blobs);
}
Precision VulkanDevice::EffectivePrecision(Precision wanted) const {
  return wanted == Precision::kHigh || !context_->adapter().storage16 ? Precision::kHigh : Precision::kNormal;
}

uint64_t VulkanDevice::submissions() const { return context_->queue().submissions(); }

Result<std::shared_ptr<Buffer>> VulkanDevice::Allocate(size_t bytes) {
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<VulkanBuffer> buffer, context_->memory().Allocate(bytes));
  return std::shared_ptr<Buffer>(std::move(buffer));
}

Status VulkanDevice::Begin() {
  context_->queue().Drop();
  return Status::Ok();
}

// In memory that the host reads, which costs a launch nothing but a bad value.
Result<std::shared_ptr<Buffer>> VulkanDevice::AddFlag(std::string message) {
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<VulkanBuffer> buffer, context_->memory().AllocateStaging(2 * sizeof(int32_t)));
  std::memset(buffer->host(), 0, 2 * sizeof(int32_t));
  const std::lock_guard<std::mutex> lock(mutex_);
  flags_.push_back({buffer, std::move(message)});
  return std::shared_ptr<Buffer>(std::move(buffer));
}

Status VulkanDevice::Finish() {
  PLUMB_RETURN_IF_ERROR(context_->queue().Flush());
  const std::lock_guard<std::mutex> lock(mutex_);
  flags_.erase(std::remove_if(flags_.begin(), flags_.end(), [](const Flag& flag) { return flag.buffer.expired(); }),
               flags_.end());
  for (const Flag& flag : flags_) {
    const std::shared_ptr<Buffer> buffer = flag.buffer.lock();
    if (buffer == nullptr) continue;
    auto* raised = static_cast<int32_t*>(buffer->host());
    if (raised[0] == 0) continue;
    raised[0] = 0;
    return Status::InvalidArgument(fmt::format("{}, found {}", flag.message, raised[1]));
  }
  return Status::Ok();
}

Status VulkanDevice::Write(const void* data, size_t bytes, const Buffer& buffer, size_t offset) {
  PLUMB_RETURN_IF_ERROR(Finish());
  if (bytes == 0) return Status::Ok();
  auto& to = static_cast<VulkanBuffer&>(const_cast<Buffer&>(buffer));
  if (to.host() != nullptr) {
    std::memcpy(static_cast<char*>(to.host()) + offset, data, bytes);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<VulkanBuffer> staging, context_->memory().AllocateStaging(bytes));
  std::memcpy(staging->host(), data, bytes);
  return context_->queue().Copy(staging->handle(), staging->offset(), to.handle(), to.offset() + offset, bytes);
}

Status VulkanDevice::Read(const Buffer& buffer, size_t offset, size_t bytes, void* data) {
  PLUMB_RETURN_IF_ERROR(Finish());
  if (bytes == 0) return Status::Ok();
  auto& from = static_cast<VulkanBuffer&>(const_cast<Buffer&>(buffer));
  if (from.host() != nullptr) {
    std::memcpy(data, static_cast<char*>(from.host()) + offset, bytes);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<VulkanBuffer> staging, context_->memory().AllocateStaging(bytes));
  PLUMB_RETURN_IF_ERROR(
      context_->queue().Copy(from.handle(), from.offset() + offset, staging->handle(), staging->offset(), bytes));
  std::memcpy(data, staging->host(), bytes);
  return Status::Ok();
}

Status VulkanDevice::Upload(const Tensor& src, const DeviceTensor& dst) {
  if (!IsChannel4(dst.layout)) return Write(src.raw(), src.bytes(), *dst.buffer, dst.offset);
  std::vector<float> packed(dst.bytes() / ElementBytes(dst));
  PackChannel4(dst.shape, src.data<float>(), packed.data());
  if (!IsHalf(dst.layout)) return Write(packed.data(), dst.bytes(), *dst.buffer, dst.offset);
  std::vector<uint16_t> halves(packed.size());
  ConvertElements(DType::kF32, packed.data(), DType::kF16, halves.data(), static_cast<int64_t>(packed.size()));
  return Write(halves.data(), dst.bytes(), *dst.buffer, dst.offset);
}

Result<Tensor> VulkanDevice::Download(const DeviceTensor& src) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(src.dtype, src.shape));
  if (!IsChannel4(src.layout)) {
    PLUMB_RETURN_IF_ERROR(Read(*src.buffer, src.offset, tensor.bytes(), tensor.raw()));
    return tensor;
  }
  std::vector<float> packed(src.bytes() / ElementBytes(src));
  if (IsHalf(src.layout)) {
    std::vector<uint16_t> halves(packed.size());
    PLUMB_RETURN_IF_ERROR(Read(*src.buffer, src.offset, src.bytes(), halves.data()));
    ConvertElements(DType::kF16, halves.data(), DType::kF32, packed.data(), static_cast<int64_t>(packed.size()));
  } else {
    PLUMB_RETURN_IF_ERROR(Read(*src.buffer, src.offset, src.bytes(), packed.data()));
  }
  UnpackChannel4(src.shape, packed.data(), tensor.data<float>());
  return tensor;
}

Result<Launch*> VulkanDevice::ReorderLaunch(const DeviceTensor& src, const DeviceTensor& dst) {
  constexpr size_t kMaxReorders = 4096;
  const auto& from = static_cast<const VulkanBuffer&>(*src.buffer);
  const auto& to = static_cast<const VulkanBuffer&>(*dst.buffer);
  const std::lock_guard<std::mutex> lock(mutex_);
  ReorderKey key(from.id(), src.offset, to.id(), dst.offset,
                 src.layout->Name() + dst.layout->Name() + src.shape.ToString());
  const auto it = reorders_.find(key);
  if (it != reorders_.end()) return it->second.get();
  if (reorders_.size() >= kMaxReorders) {
    PLUMB_RETURN_IF_ERROR(Finish());
    reorders_.clear();
  }
  PLUMB_ASSIGN_OR_RETURN(LaunchSpec spec, ReorderSpec(src, dst));
  PLUMB_ASSIGN_OR_RETURN(std::unique_ptr<Launch> launch, Launch::Create(context_, std::move(spec)));
  return (reorders_[key] = std::move(launch)).get();
}

Status VulkanDevice::Reorder(const DeviceTensor& src, const DeviceTensor& dst) {
  if (src.shape.NumElements() == 0) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(Launch * launch, ReorderLaunch(src, dst));
  return launch->Run({src}, {dst});
}

}  // namespace vulkan

Result<std::unique_ptr<Device>> CreateVulkanDevice(int index) {
  PLUMB_RETURN_IF_ERROR(vulkan::CheckShapeEnvironment());
  PLUMB_RETURN_IF_ERROR(vulkan::CheckWinogradEnvironment());
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<vulkan::Context> context, vulkan::Context::Open(index));
  return std::unique_ptr<Device>(std::make_unique<vulkan::VulkanDevice>(std::move(context)));
}

Result<std::vector<std::string>> ListVulkanAdapters() { return vulkan::Context::Adapters(); }

}  // namespace plumb
