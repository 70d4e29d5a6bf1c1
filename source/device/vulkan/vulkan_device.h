// SPDX-License-Identifier: Apache-2.0
// VULKAN: any Vulkan 1.1 driver with a compute queue; kernels are SPIR-V made from the .comp files beside this one.
#ifndef PLUMB_DEVICE_VULKAN_VULKAN_DEVICE_H_
#define PLUMB_DEVICE_VULKAN_VULKAN_DEVICE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "device/device.h"
#include "device/vulkan/launch.h"

namespace plumb {

// Adapter `index`. NotFound, with what to install, where there is no loader, driver or adapter.
Result<std::unique_ptr<Device>> CreateVulkanDevice(int index);
// One line per adapter, in index order.
Result<std::vector<std::string>> ListVulkanAdapters();

namespace vulkan {

class Context;

class VulkanDevice : public Device {
 public:
  explicit VulkanDevice(std::shared_ptr<Context> context);
  ~VulkanDevice() override;

  const char* name() const override { return "VULKAN"; }
  std::string Description() const override;
  const std::vector<KernelRow>& kernels() const override;
  bool Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const override;

  // NORMAL stores feature maps as f16 where the adapter reads and writes 16 bits; LOW is the same.
  Precision EffectivePrecision(Precision wanted) const override;

  Result<std::shared_ptr<Buffer>> Allocate(size_t bytes) override;
  Status Upload(const Tensor& src, const DeviceTensor& dst) override;
  Result<Tensor> Download(const DeviceTensor& src) override;
  Status Reorder(const DeviceTensor& src, const DeviceTensor& dst) override;
  Status Begin() override;
  Status Finish() override;

  // A kernel that met a bad value (an index outside its dim) writes 1 and the value into this buffer of two i32; Finish
  // then fails with `message`.
  Result<std::shared_ptr<Buffer>> AddFlag(std::string message);
  // Raw bytes to and from a buffer, at once.
  Status Write(const void* data, size_t bytes, const Buffer& buffer, size_t offset);
  Status Read(const Buffer& buffer, size_t offset, size_t bytes, void* data);

  const std::shared_ptr<Context>& context() const { return context_; }
  // Submissions to the queue since the process began, for tests.
  uint64_t submissions() const;

 private:
  using ReorderKey = std::tuple<uint64_t, size_t, uint64_t, size_t, std::string>;
  struct Flag {
    std::weak_ptr<Buffer> buffer;  // gone with its kernel
    std::string message;
  };
  Result<Launch*> ReorderLaunch(const DeviceTensor& src, const DeviceTensor& dst);

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<Flag> flags_;
  std::map<ReorderKey, std::unique_ptr<Launch>> reorders_;
};

}  // namespace vulkan
}  // namespace plumb

#endif  // PLUMB_DEVICE_VULKAN_VULKAN_DEVICE_H_
