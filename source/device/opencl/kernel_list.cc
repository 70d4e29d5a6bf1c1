// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/kernel_list.h"

#include "device/opencl/queue.h"

namespace plumb::opencl {

const std::vector<KernelRow>& KernelList() {
  static const std::vector<KernelRow>* list = [] {
    auto* rows = new std::vector<KernelRow>{
#define PLUMB_OPENCL_KERNEL(op, name, file) {#name, OpKind::k##op, kernel_##name.supports, kernel_##name.create},
#include "device/opencl/kernel_list.def"
#undef PLUMB_OPENCL_KERNEL
    };
    AddGpuKernels(rows);
    AddMovingRows({"strided", {}, kernel_strided.supports, kernel_strided.create}, rows);
    return rows;
  }();
  return *list;
}

Status RequireF64(Device* device, DType dtype) {
  if (dtype != DType::kF64 || QueueOf(device).context().adapter().has_f64) return Status::Ok();
  return Status::NotSupported("the OpenCL device has no f64 (cl_khr_fp64)");
}

Status ClKernel::ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  for (const BlobInfo& blob : spec.inputs) choice->inputs.push_back(StoredLayout(spec, blob.dtype));
  for (const BlobInfo& blob : spec.outputs) choice->outputs.push_back(StoredLayout(spec, blob.dtype));
  return Status::Ok();
}

Status TailZero::Prepare(const KernelSpec& spec, const DeviceTensor& tensor) {
  const Planes planes = PlanesOf(tensor);
  if (planes.channels % planes.block == 0) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(launcher_,
                         Launcher::Create(spec.device, "reorder.cl", "zero_tail", FormOf(tensor.layout).half));
  return Status::Ok();
}

Status TailZero::Run(const DeviceTensor& tensor) {
  if (launcher_.empty()) return Status::Ok();
  const Planes p = PlanesOf(tensor);
  return launcher_.Run({p.batch * p.pixels}, tensor, p.batch, p.channels, p.pixels);
}

}  // namespace plumb::opencl
