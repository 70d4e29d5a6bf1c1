// SPDX-License-Identifier: Apache-2.0
// Device: where kernels run. The runtime knows devices only through this interface; a GPU whose memory the host cannot
// read and a CPU serve it alike. Ownership: a Device outlives its networks. Threading: one network at a time per
// thread; Upload/Download are blocking.
#ifndef PLUMB_DEVICE_DEVICE_H_
#define PLUMB_DEVICE_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "device/kernel.h"

namespace plumb {

class Device {
 public:
  virtual ~Device() = default;

  virtual const char* name() const = 0;         // "X86"
  virtual std::string Description() const = 0;  // "Intel(R) Xeon(R), AVX512, oneDNN 2.6.3": one line for reports
  // The ordered kernel list, best first.
  virtual const std::vector<KernelRow>& kernels() const = 0;
  // Asked before those: tests plant faults and guards with them.
  std::vector<KernelRow> kernels_in_front;
  // Whether `next`, the only reader of the group's only output, may join the group. Called only when the graph allows
  // it.
  virtual bool Fuses(const LayerGroup& group, const Layer& next, const BlobTable& blobs) const { return false; }
  // How many layers of `chain`, from its first on, one kernel computes that would not grow layer by layer, because
  // shorter rows are nobody's; 0 or 1: none. Each layer is the only reader of the only output of the one before.
  virtual size_t FusesAhead(const std::vector<const Layer*>& chain, const BlobTable& blobs) const { return 0; }
  // What NORMAL and LOW precision mean here; HIGH when the device has no fp16.
  virtual Precision EffectivePrecision(Precision wanted) const { return Precision::kHigh; }
  // A kernel of this device's list as a network of the spec's precision holds its blobs: for devices whose kernels need
  // not know in what blobs are stored.
  virtual std::unique_ptr<Kernel> InPrecision(const KernelSpec& spec, std::unique_ptr<Kernel> kernel) const {
    return kernel;
  }

  virtual Result<std::shared_ptr<Buffer>> Allocate(size_t bytes) = 0;
  // Dense host tensor -> device tensor of the same dtype and shape, in its layout.
  virtual Status Upload(const Tensor& src, const DeviceTensor& dst) = 0;
  // The host tensor's own memory, where kernels can read it in place of `dst` as it lies; null: it has to be uploaded.
  // The buffer keeps the memory alive; nobody writes to it.
  virtual std::shared_ptr<Buffer> Borrow(const Tensor& src, const DeviceTensor& dst) { return nullptr; }
  // Device tensor -> new dense host tensor in logical order. Waits for the work that produces it.
  virtual Result<Tensor> Download(const DeviceTensor& src) = 0;
  // The device tensor's own memory, kept alive, where it is a dense host tensor as it lies; else as Download.
  virtual Result<Tensor> View(const DeviceTensor& src) { return Download(src); }
  // Converts between two layouts of this device.
  virtual Status Reorder(const DeviceTensor& src, const DeviceTensor& dst) = 0;
  // Whether a forked child may go on with it. False: the driver has threads of its own, and a child has none of them.
  virtual bool SurvivesFork() const { return false; }
  // Starts a Forward / waits until everything submitted is done.
  virtual Status Begin() { return Status::Ok(); }
  virtual Status Finish() { return Status::Ok(); }
};

// A device in host memory: allocation, and plain-layout Upload/Borrow/Download/View/Reorder.
class HostDevice : public Device {
 public:
  Result<std::shared_ptr<Buffer>> Allocate(size_t bytes) override;
  Status Upload(const Tensor& src, const DeviceTensor& dst) override;
  std::shared_ptr<Buffer> Borrow(const Tensor& src, const DeviceTensor& dst) override;
  Result<Tensor> Download(const DeviceTensor& src) override;
  Result<Tensor> View(const DeviceTensor& src) override;
  Status Reorder(const DeviceTensor& src, const DeviceTensor& dst) override;
  bool SurvivesFork() const override { return true; }
};

}  // namespace plumb

#endif  // PLUMB_DEVICE_DEVICE_H_
