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

// A tensor's bytes between two zones, in memory of the device.
class Copy {
 public:
  static Result<Copy> Of(Device* device, const DeviceTensor& tensor) {
    Copy copy;
    copy.tensor_ = tensor;
    PLUMB_ASSIGN_OR_RETURN(copy.tensor_.buffer, device->Allocate(tensor.bytes() + 2 * kZone));
    copy.tensor_.offset = kZone;
    std::memset(copy.tensor_.buffer->host(), kGuard, copy.tensor_.bytes() + 2 * kZone);
    return copy;
  }
  const DeviceTensor& tensor() const { return tensor_; }
  unsigned char* bytes() const { return tensor_.host<unsigned char>(); }

  Status CheckZones(const std::string& what) const {
    const size_t size = tensor_.bytes();
    for (size_t i = 0; i < kZone; ++i) {
      if (bytes()[size + i] != kGuard)
        return Status::Internal("the kernel wrote byte " + std::to_string(i) + " behind " + what);
      if ((bytes() - kZone)[i] != kGuard)
        return Status::Internal("the kernel wrote byte -" + std::to_string(kZone - i) + " before " + what);
    }
    return Status::Ok();
  }

 private:
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
    return kernel_->Prepare(spec, inputs, outputs);
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    std::vector<Copy> in, out;
    std::vector<DeviceTensor> guarded_inputs, guarded_outputs;
    for (const DeviceTensor& tensor : inputs) {
      PLUMB_ASSIGN_OR_RETURN(Copy copy, Copy::Of(device_, tensor));
      std::memcpy(copy.bytes(), tensor.host<unsigned char>(), tensor.bytes());
      guarded_inputs.push_back(copy.tensor());
      in.push_back(std::move(copy));
    }
    for (const DeviceTensor& tensor : outputs) {
      PLUMB_ASSIGN_OR_RETURN(Copy copy, Copy::Of(device_, tensor));
      std::memset(copy.bytes(), 0xFF, tensor.bytes());
      guarded_outputs.push_back(copy.tensor());
      out.push_back(std::move(copy));
    }
    PLUMB_RETURN_IF_ERROR(device_->Finish());
    PLUMB_RETURN_IF_ERROR(kernel_->Run(guarded_inputs, guarded_outputs));
    PLUMB_RETURN_IF_ERROR(device_->Finish());
    for (size_t i = 0; i < in.size(); ++i) {
      PLUMB_RETURN_IF_ERROR(in[i].CheckZones("input " + std::to_string(i)));
      if (std::memcmp(in[i].bytes(), inputs[i].host<unsigned char>(), inputs[i].bytes()) != 0) {
        return Status::Internal("the kernel changed input " + std::to_string(i));
      }
    }
    for (size_t i = 0; i < out.size(); ++i) {
      PLUMB_RETURN_IF_ERROR(out[i].CheckZones("output " + std::to_string(i)));
      std::memcpy(outputs[i].host<unsigned char>(), out[i].bytes(), outputs[i].bytes());
    }
    return Status::Ok();
  }

 private:
  Device* device_;
  std::unique_ptr<Kernel> kernel_;
};

Status Supports(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  PLUMB_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> probe, spec.device->Allocate(64));
  if (probe->host() == nullptr) return Status::NotSupported("guard zones need memory that the host can reach");
  return RowOf(spec) != nullptr ? Status::Ok() : Status::NotSupported("the device has no kernel");
}

std::unique_ptr<Kernel> Create(const KernelSpec& spec) { return std::make_unique<GuardKernel>(spec); }

}  // namespace

std::shared_ptr<const std::vector<KernelRow>> GuardedKernels() {
  auto rows = std::make_shared<std::vector<KernelRow>>();
  for (const OpDef& op : AllOps()) rows->push_back({"guarded", op.kind, Supports, Create});
  return rows;
}

}  // namespace plumb
