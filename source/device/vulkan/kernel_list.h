// SPDX-License-Identifier: Apache-2.0
// The VULKAN device's ordered kernel list and its fusion rule. A kernel is one row of kernel_list.def and one file,
// which defines
//   const KernelFunctions kernel_<name>;
// Nearly every kernel is a list of launches that `build` writes down once; Run only enqueues them.
#ifndef PLUMB_DEVICE_VULKAN_KERNEL_LIST_H_
#define PLUMB_DEVICE_VULKAN_KERNEL_LIST_H_

#include <memory>
#include <string>
#include <vector>

#include "device/kernel.h"
#include "device/shared/fused_tail.h"
#include "device/vulkan/context.h"
#include "device/vulkan/launch.h"
#include "device/vulkan/vulkan_device.h"

namespace plumb::vulkan {

// What a kernel's `build` sees and fills.
class Builder {
 public:
  Builder(const KernelSpec& kernel_spec, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out)
      : spec(kernel_spec), inputs(in), outputs(out) {}

  const KernelSpec& spec;
  const std::vector<DeviceTensor>& inputs;
  const std::vector<DeviceTensor>& outputs;
  std::vector<LaunchSpec> launches;
  std::string detail;
  Numerics numerics;

  const Layer& layer() const { return spec.layer(); }
  VulkanDevice& device() const { return *static_cast<VulkanDevice*>(spec.device); }
  // A buffer of the kernel's own that holds these bytes.
  Result<Argument> Constant(const void* data, size_t bytes, Argument::View view = Argument::kStorage);
  Result<Argument> Constant(const Tensor& tensor) { return Constant(tensor.raw(), tensor.bytes()); }
};

struct KernelFunctions {
  Status (*supports)(const KernelSpec& spec);
  Status (*build)(Builder* b);
  // null: everything plain, nothing shared.
  Status (*layouts)(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) = nullptr;
  // A class of its own, for a kernel that does more than launch; then the two above are not used.
  std::unique_ptr<Kernel> (*create)(const KernelSpec& spec) = nullptr;
};

const std::vector<KernelRow>& KernelList();
// Whether `next` may join the group: some kernel must be able to compute the longer group.
bool MayFuse(const LayerGroup& group, const Layer& next, const BlobTable& blobs);

const Adapter& AdapterOf(const KernelSpec& spec);
// NotSupported, with the feature's name, where the adapter cannot hold or compute that dtype.
Status RequireDType(const KernelSpec& spec, DType dtype);
// NotSupported unless the first input is f32, or i32 or i64 and the adapter has 64-bit integers.
Status RequireNumber(const KernelSpec& spec);
// The layer's place among the operators that a shader has cases for, in their order; NotSupported when it has none.
template <size_t count>
Result<uint32_t> CaseOf(const OpKind (&cases)[count], const Layer& layer) {
  for (size_t i = 0; i < count; ++i) {
    if (cases[i] == layer.kind) return static_cast<uint32_t>(i);
  }
  return Status::NotSupported("the shader has no case for '" + layer.type + "'");
}
// "f32", "i32", "i64" ...: the end of the name of a shader that exists per dtype; "b1" .. "b8" per element size.
std::string DTypeSuffix(DType dtype);
std::string SizeSuffix(DType dtype);
// All plain, and output 0 may be written over each input of its shape.
Status PlainInPlace(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice);

#define PLUMB_VULKAN_KERNEL(op, name, file) extern const KernelFunctions kernel_##name;
#include "device/vulkan/kernel_list.def"
#undef PLUMB_VULKAN_KERNEL
extern const KernelFunctions kernel_strided;
// The operators of device/gpu.
void AddGpuKernels(std::vector<KernelRow>* rows);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_KERNEL_LIST_H_
