// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/copy.h"

namespace plumb::opencl {

Copy Copy::Of(const Walk& plan) {
  Copy copy;
  copy.count = plan.count();
  copy.walk.rank = static_cast<int>(plan.rank());
  PutDims(plan.dims, copy.walk.dims);
  PutDims(plan.strides[0], copy.walk.x);
  PutDims(plan.strides[1], copy.walk.y);
  return copy;
}

Result<Launcher> LoadCopy(const KernelSpec& spec, const DeviceTensor& tensor) {
  return Launcher::Create(spec.device, "copy.cl", "copy_" + std::to_string(ElementBytes(tensor)), false);
}

}  // namespace plumb::opencl
