// SPDX-License-Identifier: Apache-2.0
#include "op/guard_kernel.h"

#include <cstring>

#include "device/device.h"

namespace plumb {
namespace {

constexpr size_t kZone = 512;
constexpr unsigned char kGuard = 0xA5;

const KernelRow* RowOf(const KernelSpec& spec) {
  for (const KernelRow& row : spec.device->kernels()) {
    if (row.op == spec.layer().kind && row.supports(spec).ok()) return &row;
  }
  return nullptr;
}

// `size` bytes at `offset` of a buffer as a blob of bytes: how any device's memory is written and read.
DeviceTensor BytesAt(const std::shared_ptr<Buffer>& buffer, size_t offset, size_t size) {
  return {DType::kU8, Shape{static_cast<int64_t>(size)}, PlainLayout(), buffer, offset};
}

Result<Tensor> BytesOf(Device* device, const DeviceTensor& tensor) {
  return device->Download(BytesAt(tensor.buffer, tensor.offset, tensor.bytes()));
}

// A tensor's bytes between two zones, in memory of the device.
class Copy {
 public:
  // `inside`: what lies between the zones; empty: bytes that no kernel should find there.
  static Result<Copy> Of(Device* device, const DeviceTensor& tensor, const Tensor& inside) {
    Copy copy;
    copy.device_ = device;
    copy.tensor_ = tensor;
    const size_t size = tensor.bytes();
    PLUMB_ASSIGN_OR_RETURN(copy.tensor_.buffer, device->Allocate(size + 2 * kZone));
    copy.tensor_.offset = kZone;
    PLUMB_ASSIGN_OR_RETURN(Tensor all, Tensor::Create(DType::kU8, {static_cast<int64_t>(size + 2 * kZone)}));
    std::memset(all.raw(), kGuard, all.bytes());
    if (inside.empty()) std::memset(all.data<uint8_t>() + kZone, 0xFF, size);
    if (!inside.empty()) std::memcpy(all.data<uint8_t>() + kZone, inside.raw(), size);
    PLUMB_RETURN_IF_ERROR(device->Upload(all, BytesAt(copy.tensor_.buffer, 0, all.bytes())));
    return copy;
  }
  const DeviceTensor& tensor() const { return tensor_; }

  // The bytes between the zones, or what was done to the zones.
  Result<Tensor> Inside(const std::string& what) const {
    const size_t size = tensor_.bytes();
    PLUMB_ASSIGN_OR_RETURN(const Tensor all, device_->Download(BytesAt(tensor_.buffer, 0, size + 2 * kZone)));
    const uint8_t* bytes = all.data<uint8_t>();
    for (size_t i = 0; i < kZone; ++i) {
      if (bytes[kZone + size + i] != kGuard)
        return Status::Internal("the kernel wrote byte " + std::to_string(i) + " behind " + what);
      if (bytes[i] != kGuard)
        return Status::Internal("the kernel wrote byte -" + std::to_string(kZone - i) + " before " + what);
    }
    PLUMB_ASSIGN_OR_RETURN(Tensor inside, Tensor::Create(DType::kU8, {static_cast<int64_t>(size)}));
    std::memcpy(inside.raw(), bytes + kZone, size);
    return inside;
  }

 private:
  Device* device_ = nullptr;
  DeviceTensor tensor_;
};

class GuardKernel : public Kernel {
 public:
  explicit GuardKernel(const KernelSpec& spec) : device_(spec.device), kernel_(RowOf(spec)->create(spec)) {}

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(kernel_->ChooseLayouts(spec, arriving, choice));
    choice->shares.clear();
    return Status::Ok();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    if (spec.workspace.buffer == nullptr) return kernel_->Prepare(spec, inputs, outputs);
    PLUMB_ASSIGN_OR_RETURN(workspace_, Copy::Of(device_, spec.workspace, {}));
    guarded_spec_ = std::make_unique<KernelSpec>(spec);
    guarded_spec_->workspace = workspace_.tensor();
    return kernel_->Prepare(*guarded_spec_, inputs, outputs);
  }
  Numerics DeclaredNumerics() const override { return kernel_->DeclaredNumerics(); }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    std::vector<Copy> in, out;
    std::vector<Tensor> before;
    std::vector<DeviceTensor> guarded_inputs, guarded_outputs;
    for (const DeviceTensor& tensor : inputs) {
      PLUMB_ASSIGN_OR_RETURN(before.emplace_back(), BytesOf(device_, tensor));
      PLUMB_ASSIGN_OR_RETURN(Copy copy, Copy::Of(device_, tensor, before.back()));
      guarded_inputs.push_back(copy.tensor());
      in.push_back(std::move(copy));
    }
    for (const DeviceTensor& tensor : outputs) {
      PLUMB_ASSIGN_OR_RETURN(Copy copy, Copy::Of(device_, tensor, {}));
      guarded_outputs.push_back(copy.tensor());
      out.push_back(std::move(copy));
    }
    PLUMB_RETURN_IF_ERROR(device_->Finish());
    PLUMB_RETURN_IF_ERROR(kernel_->Run(guarded_inputs, guarded_outputs));
    PLUMB_RETURN_IF_ERROR(device_->Finish());
    for (size_t i = 0; i < in.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor after, in[i].Inside("input " + std::to_string(i)));
      if (std::memcmp(after.raw(), before[i].raw(), after.bytes()) != 0) {
        return Status::Internal("the kernel changed input " + std::to_string(i));
      }
    }
    if (guarded_spec_ != nullptr) PLUMB_RETURN_IF_ERROR(workspace_.Inside("the workspace").status());
    for (size_t i = 0; i < out.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor made, out[i].Inside("output " + std::to_string(i)));
      PLUMB_RETURN_IF_ERROR(device_->Upload(made, BytesAt(outputs[i].buffer, outputs[i].offset, made.bytes())));
    }
    return Status::Ok();
  }

 private:
  Device* device_;
  std::unique_ptr<KernelSpec> guarded_spec_;  // when there is a workspace
  Copy workspace_;
  std::unique_ptr<Kernel> kernel_;
};

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  return RowOf(spec) != nullptr ? Status::Ok() : Status::NotSupported("the device has no kernel");
}

std::unique_ptr<Kernel> Create(const KernelSpec& spec) { return std::make_unique<GuardKernel>(spec); }

}  // namespace

std::vector<KernelRow> GuardedKernels() {
  std::vector<KernelRow> rows;
  for (const OpDef& op : AllOps()) rows.push_back({"guarded", op.kind, Supports, Create});
  return rows;
}

}  // namespace plumb
