// SPDX-License-Identifier: Apache-2.0
// FallbackKernel: a layer of a network runs on another device; its blobs travel through the host.
#include "runtime/plan.h"

namespace plumb {
namespace {

class FallbackKernel : public Kernel {
 public:
  FallbackKernel(const KernelSpec& spec, const KernelRow& row, std::shared_ptr<Device> device)
      : device_(std::move(device)), owner_(spec.device), kernel_(row.create(spec)) {}

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_RETURN_IF_ERROR(Allocate(inputs, &inputs_));
    PLUMB_RETURN_IF_ERROR(Allocate(outputs, &outputs_));
    return kernel_->Prepare(spec, inputs_, outputs_);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, owner_->Download(inputs[i]));
      PLUMB_RETURN_IF_ERROR(device_->Upload(value, inputs_[i]));
    }
    PLUMB_RETURN_IF_ERROR(kernel_->Run(inputs_, outputs_));
    for (size_t i = 0; i < outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, device_->Download(outputs_[i]));
      PLUMB_RETURN_IF_ERROR(owner_->Upload(value, outputs[i]));
    }
    return Status::Ok();
  }

 private:
  Status Allocate(const std::vector<DeviceTensor>& from, std::vector<DeviceTensor>* to) {
    for (const DeviceTensor& tensor : from) {
      to->push_back({tensor.dtype, tensor.shape, PlainLayout(), nullptr, 0});
      PLUMB_ASSIGN_OR_RETURN(to->back().buffer, device_->Allocate(to->back().bytes()));
    }
    return Status::Ok();
  }

  std::shared_ptr<Device> device_;
  Device* owner_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<DeviceTensor> inputs_, outputs_;
};

}  // namespace

std::unique_ptr<Kernel> CreateFallbackKernel(const KernelSpec& spec, const KernelRow& row,
                                             std::shared_ptr<Device> device) {
  return std::make_unique<FallbackKernel>(spec, row, std::move(device));
}

}  // namespace plumb
