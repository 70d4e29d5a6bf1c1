// SPDX-License-Identifier: Apache-2.0
// The device class behind opencl_device.h: buffers, blobs in and out, conversions between forms.
#ifndef PLUMB_DEVICE_OPENCL_DEVICE_H_
#define PLUMB_DEVICE_OPENCL_DEVICE_H_

#include <memory>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "device/opencl/launcher.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {

class OpenclDevice : public Device {
 public:
  static Result<std::unique_ptr<Device>> Create(int index);

  const char* name() const override { return "OPENCL"; }
  std::string Description() const override;
  const std::vector<KernelRow>& kernels() const override;
  bool Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const override;
  // f16 is a storage format of every driver; arithmetic stays f32, so LOW is NORMAL.
  Precision EffectivePrecision(Precision wanted) const override;

  Result<std::shared_ptr<Buffer>> Allocate(size_t bytes) override { return queue_->Allocate(bytes); }
  Status Upload(const Tensor& src, const DeviceTensor& dst) override;
  Result<Tensor> Download(const DeviceTensor& src) override;
  Status Reorder(const DeviceTensor& src, const DeviceTensor& dst) override;
  Status Finish() override;

  Queue& queue() { return *queue_; }
  // A kernel that met a bad value (an index outside its dim) writes flag[0] = 1, flag[1] = the value; Finish then fails
  // with `message`. Returns the flag.
  Result<Array> AddFlag(std::string message);

 private:
  struct Flag {
    std::weak_ptr<Buffer> buffer;  // gone with its kernel
    std::string message;
  };
  explicit OpenclDevice(std::unique_ptr<Queue> queue) : queue_(std::move(queue)) {}
  std::unique_ptr<Queue> queue_;
  std::mutex mutex_;         // networks on several threads may share the device
  Launcher reorders_[2][2];  // by source and destination: f32, f16
  std::vector<Flag> flags_;
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_DEVICE_H_
