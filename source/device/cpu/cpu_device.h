// SPDX-License-Identifier: Apache-2.0
// What the CPU devices share: the kernel list, the fusion rule, and moving blobs between plain order and channel
// blocks.
#ifndef PLUMB_DEVICE_CPU_CPU_DEVICE_H_
#define PLUMB_DEVICE_CPU_CPU_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace plumb::cpu {

class CpuDevice : public HostDevice {
 public:
  const std::vector<KernelRow>& kernels() const override;
  bool Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const override;
  size_t FusesAhead(const std::vector<const Layer*>& chain, const BlobTable& blobs) const override;
  Status Upload(const Tensor& src, const DeviceTensor& dst) override;
  std::shared_ptr<plumb::Buffer> Borrow(const Tensor& src, const DeviceTensor& dst) override;
  Result<Tensor> View(const DeviceTensor& src) override;
  Result<Tensor> Download(const DeviceTensor& src) override;
  Status Reorder(const DeviceTensor& src, const DeviceTensor& dst) override;
};

// The value of the first line of /proc/cpuinfo that begins with `field`; empty without one.
std::string CpuInfo(const std::string& field);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_CPU_DEVICE_H_
