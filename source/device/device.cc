// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include <cstring>
#include <utility>

#include "base/block_pool.h"
#include "base/memory_budget.h"
#include "op/core/op.h"

namespace plumb {
namespace {

class Plain : public Layout {
 public:
  std::string Name() const override { return "NCHW"; }
  size_t Bytes(DType dtype, const Shape& shape) const override {
    return static_cast<size_t>(shape.NumElements()) * DTypeSize(dtype);
  }
};

constexpr size_t kAlign = 64;  // bytes, of all memory that kernels are given

class HostBuffer : public Buffer {
 public:
  HostBuffer(std::shared_ptr<void> memory, size_t size) : memory_(std::move(memory)), size_(size) {}
  size_t size() const override { return size_; }
  void* host() override { return memory_.get(); }

 private:
  std::shared_ptr<void> memory_;
  size_t size_;
};

Status RequirePlain(const DeviceTensor& tensor) {
  if (tensor.layout->Equals(*PlainLayout())) return Status::Ok();
  return Status::Internal("a host device without layouts of its own met the layout " + tensor.layout->Name());
}

}  // namespace

const LayoutPtr& PlainLayout() {
  static const LayoutPtr* layout = new LayoutPtr(std::make_shared<Plain>());
  return *layout;
}

Status Kernel::ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  choice->inputs.assign(arriving.size(), PlainLayout());
  choice->outputs.assign(spec.outputs.size(), PlainLayout());
  return Status::Ok();
}

void AddMovingRows(const KernelRow& strided, std::vector<KernelRow>* rows) {
  for (const OpDef& op : AllOps()) {
    if (op.map == nullptr) continue;
    rows->push_back(strided);
    rows->back().op = op.kind;
  }
}

Status RequireFastAlgorithms(const KernelSpec& spec) {
  return spec.direct ? Status::NotSupported("this network is kept to direct sums") : Status::Ok();
}

Status RequireSingle(const KernelSpec& spec) {
  if (spec.group.members.size() == 1) return Status::Ok();
  return Status::NotSupported("computes one layer, found a group of " + std::to_string(spec.group.members.size()));
}

Status RequireF32(const KernelSpec& spec) {
  for (const BlobInfo& blob : spec.inputs) {
    if (blob.dtype != DType::kF32)
      return Status::NotSupported(std::string("takes f32, found ") + DTypeName(blob.dtype));
  }
  for (const BlobInfo& blob : spec.outputs) {
    if (blob.dtype != DType::kF32)
      return Status::NotSupported(std::string("makes f32, found ") + DTypeName(blob.dtype));
  }
  return Status::Ok();
}

Result<std::shared_ptr<Buffer>> HostDevice::Allocate(size_t bytes) {
  const size_t rounded = (bytes + kAlign) / kAlign * kAlign;
  std::shared_ptr<void> memory = AllocateBlock(rounded);
  if (memory == nullptr) return NoMemory(bytes, "blobs");
  return std::shared_ptr<Buffer>(std::make_shared<HostBuffer>(std::move(memory), rounded));
}

Status HostDevice::Upload(const Tensor& src, const DeviceTensor& dst) {
  PLUMB_RETURN_IF_ERROR(RequirePlain(dst));
  std::memcpy(dst.host<char>(), src.raw(), src.bytes());
  return Status::Ok();
}

std::shared_ptr<Buffer> HostDevice::Borrow(const Tensor& src, const DeviceTensor& dst) {
  const bool aligned = reinterpret_cast<uintptr_t>(src.raw()) % kAlign == 0;
  if (src.empty() || !aligned || !dst.layout->Equals(*PlainLayout())) return nullptr;
  // A buffer is writable and a Tensor knows its memory as such, but inputs are pinned: no kernel writes there.
  const auto kept = std::make_shared<Tensor>(src);
  return std::make_shared<HostBuffer>(std::shared_ptr<void>(kept, kept->raw()), src.bytes());
}

Result<Tensor> HostDevice::Download(const DeviceTensor& src) {
  PLUMB_RETURN_IF_ERROR(RequirePlain(src));
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(src.dtype, src.shape));
  std::memcpy(tensor.raw(), src.host<char>(), tensor.bytes());
  return tensor;
}

Result<Tensor> HostDevice::View(const DeviceTensor& src) {
  if (src.buffer == nullptr || !src.layout->Equals(*PlainLayout())) return Download(src);
  return Tensor::View(src.dtype, src.shape, src.host<char>(), src.buffer);
}

Status HostDevice::Reorder(const DeviceTensor& src, const DeviceTensor& dst) {
  PLUMB_RETURN_IF_ERROR(RequirePlain(src));
  PLUMB_RETURN_IF_ERROR(RequirePlain(dst));
  std::memcpy(dst.host<char>(), src.host<char>(), dst.bytes());
  return Status::Ok();
}

}  // namespace plumb
