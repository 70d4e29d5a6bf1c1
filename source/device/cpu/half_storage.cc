// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/half_storage.h"

#include <algorithm>
#include <utility>

#include "device/cpu/half_layout.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kCopyAlign = 16;  // floats of a cache line

class HalfStorageKernel : public Kernel {
 public:
  explicit HalfStorageKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  // The kernel hears in which order its inputs arrive, and nothing of f16; one that only moves elements hears that they
  // are f16.
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    spec_ = std::make_unique<KernelSpec>(spec);
    const bool moves = kernel_->MovesOnly();
    if (moves) {
      for (BlobInfo& blob : spec_->inputs) blob.dtype = StoredDType(blob.dtype);
      for (BlobInfo& blob : spec_->outputs) blob.dtype = StoredDType(blob.dtype);
    }
    std::vector<LayoutPtr> orders;
    for (const LayoutPtr& layout : arriving) orders.push_back(OrderOf(layout));
    PLUMB_RETURN_IF_ERROR(kernel_->ChooseLayouts(*spec_, orders, choice));
    choice->inputs.resize(arriving.size());
    inner_workspace_ = choice->workspace;
    int64_t* workspace = &choice->workspace;
    for (size_t i = 0; i < arriving.size(); ++i) {
      const BlobInfo& blob = spec.inputs[i];
      // What arrives in f32, a network's input or a constant, is read as it is where its order is right.
      const LayoutPtr order = choice->inputs[i] == nullptr ? orders[i] : choice->inputs[i];
      const bool as_it_is = !moves && (!blob.value.empty() || order->Equals(*arriving[i]));
      inputs_.push_back(PortOf(blob, order, moves, as_it_is, workspace));
      choice->inputs[i] = inputs_.back().layout;
    }
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      outputs_.push_back(PortOf(spec.outputs[i], choice->outputs[i], moves, false, workspace));
      choice->outputs[i] = outputs_.back().layout;
    }
    DropShares(&choice->shares);
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>& inputs,
                 const std::vector<DeviceTensor>& outputs) override {
    if (inner_workspace_ > 0) spec_->workspace = spec.workspace;
    for (size_t i = 0; i < inputs.size(); ++i) inner_inputs_.push_back(InnerTensor(inputs_[i], inputs[i], spec));
    for (size_t i = 0; i < outputs.size(); ++i) inner_outputs_.push_back(InnerTensor(outputs_[i], outputs[i], spec));
    return kernel_->Prepare(*spec_, inner_inputs_, inner_outputs_);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs_[i].copy >= 0) {
        Widen(inputs[i], inner_inputs_[i]);
      } else {
        SetMemory(inputs[i], &inner_inputs_[i]);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs_[i].copy < 0) SetMemory(outputs[i], &inner_outputs_[i]);
    }
    PLUMB_RETURN_IF_ERROR(kernel_->Run(inner_inputs_, inner_outputs_));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs_[i].copy >= 0) Narrow(inner_outputs_[i], outputs[i]);
    }
    return Status::Ok();
  }

  std::string Detail() const override { return kernel_->Detail(); }
  bool ReadsResources() const override { return kernel_->ReadsResources(); }
  Numerics DeclaredNumerics() const override { return kernel_->DeclaredNumerics(); }

 private:
  struct Port {
    LayoutPtr layout;        // outside
    LayoutPtr inner_layout;  // what the kernel is shown
    DType dtype = DType::kF32;
    int64_t copy = -1;  // where in the workspace its f32 copy begins; -1: the kernel is given the blob itself
  };

  static DType StoredDType(DType dtype) { return dtype == DType::kF32 ? DType::kF16 : dtype; }

  static Port PortOf(const BlobInfo& blob, const LayoutPtr& chosen, bool moves, bool as_it_is, int64_t* workspace) {
    Port port{chosen, chosen, blob.dtype, -1};
    if (blob.dtype != DType::kF32 || IsHalf(chosen) || as_it_is) return port;
    port.layout = HalfOf(chosen);
    if (moves) {
      port.dtype = DType::kF16;
      return port;
    }
    const auto elements = static_cast<int64_t>(chosen->Bytes(DType::kF32, blob.shape) / sizeof(float));
    port.copy = (*workspace + kCopyAlign - 1) / kCopyAlign * kCopyAlign;
    *workspace = port.copy + std::max<int64_t>(1, elements);
    return port;
  }

  // Two blobs share memory where both are stored alike, and views only where the kernel is given the blobs themselves.
  void DropShares(std::vector<ShareWish>* shares) const {
    const auto impossible = [this](const ShareWish& wish) {
      const Port& in = inputs_[static_cast<size_t>(wish.input)];
      const Port& out = outputs_[static_cast<size_t>(wish.output)];
      if (IsHalf(in.layout) != IsHalf(out.layout)) return true;
      return wish.kind != ShareWish::kOverwrite && (in.copy >= 0 || out.copy >= 0);
    };
    shares->erase(std::remove_if(shares->begin(), shares->end(), impossible), shares->end());
  }

  static void SetMemory(const DeviceTensor& from, DeviceTensor* to) {
    to->buffer = from.buffer, to->offset = from.offset;
  }

  static DeviceTensor InnerTensor(const Port& port, const DeviceTensor& tensor, const KernelSpec& spec) {
    DeviceTensor inner{port.dtype, tensor.shape, port.inner_layout, tensor.buffer, tensor.offset};
    if (port.copy < 0) return inner;
    inner.buffer = spec.workspace.buffer;
    inner.offset = spec.workspace.offset + static_cast<size_t>(port.copy) * sizeof(float);
    return inner;
  }

  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<KernelSpec> spec_;  // as the kernel sees it
  int64_t inner_workspace_ = 0;
  std::vector<Port> inputs_, outputs_;
  std::vector<DeviceTensor> inner_inputs_, inner_outputs_;
};

}  // namespace

std::unique_ptr<Kernel> WithHalfStorage(std::unique_ptr<Kernel> kernel) {
  return std::make_unique<HalfStorageKernel>(std::move(kernel));
}

}  // namespace plumb::cpu
