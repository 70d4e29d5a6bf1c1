// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/constant.h"

#include "device/opencl/queue.h"

namespace plumb::opencl {

Result<DeviceTensor> UploadConstant(Device* device, const Tensor& value, const LayoutPtr& layout) {
  DeviceTensor tensor{value.dtype(), value.shape(), layout, nullptr, 0};
  PLUMB_ASSIGN_OR_RETURN(tensor.buffer, device->Allocate(tensor.bytes()));
  PLUMB_RETURN_IF_ERROR(device->Upload(value, tensor));
  return tensor;
}

DeviceTensor NoTensor(Device* device) { return {DType::kF32, Shape{1}, PlainLayout(), QueueOf(device).nothing(), 0}; }

}  // namespace plumb::opencl
