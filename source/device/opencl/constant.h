// SPDX-License-Identifier: Apache-2.0
// Constants of a layer (its resources) as blobs on the device.
#ifndef PLUMB_DEVICE_OPENCL_CONSTANT_H_
#define PLUMB_DEVICE_OPENCL_CONSTANT_H_

#include "device/opencl/launcher.h"

namespace plumb::opencl {

// Uploads the tensor in that layout.
Result<DeviceTensor> UploadConstant(Device* device, const Tensor& value, const LayoutPtr& layout);
// An argument that the kernel does not read, of that dtype.
DeviceTensor NoTensor(Device* device);

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_CONSTANT_H_
