// SPDX-License-Identifier: Apache-2.0
// The OPENCL device's ordered kernel list. A kernel is one row of kernel_list.def and one host file, which defines
//   const KernelFunctions kernel_<name>;
// with its kernel source beside it (<file>.cl).
#ifndef PLUMB_DEVICE_OPENCL_KERNEL_LIST_H_
#define PLUMB_DEVICE_OPENCL_KERNEL_LIST_H_

#include <vector>

#include "device/opencl/launcher.h"

namespace plumb::opencl {

const std::vector<KernelRow>& KernelList();

#define PLUMB_OPENCL_KERNEL(op, name, file) extern const KernelFunctions kernel_##name;
#include "device/opencl/kernel_list.def"
#undef PLUMB_OPENCL_KERNEL
extern const KernelFunctions kernel_strided;
// The operators of device/gpu.
void AddGpuKernels(std::vector<KernelRow>* rows);

// NotSupported for f64 blobs on a device without fp64.
Status RequireF64(Device* device, DType dtype);

// Base of the kernels: every blob in plain order, f32 ones stored as the network's precision says.
class ClKernel : public Kernel {
 public:
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override;

 protected:
  static bool Half(const KernelSpec& spec) { return spec.precision != Precision::kHigh; }
  static Result<Launcher> Load(const KernelSpec& spec, const char* file, const std::string& name) {
    return Launcher::Create(spec.device, file, name, Half(spec));
  }
};

// Sets the lanes behind the last channel of a blocked blob to zero, for kernels with f(0) != 0.
class TailZero {
 public:
  Status Prepare(const KernelSpec& spec, const DeviceTensor& tensor);
  Status Run(const DeviceTensor& tensor);

 private:
  Launcher launcher_;
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_KERNEL_LIST_H_
