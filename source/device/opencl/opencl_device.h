// SPDX-License-Identifier: Apache-2.0
// The OPENCL device: kernel files (.cl beside their host files) compiled for whatever driver is there, GPU or CPU. The
// OpenCL loader is opened at run time; without a loader, driver or device the factory says what to install.
#ifndef PLUMB_DEVICE_OPENCL_OPENCL_DEVICE_H_
#define PLUMB_DEVICE_OPENCL_OPENCL_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace plumb {

// Adapter `index` of OpenclAdapters(). NotFound without driver; InvalidArgument for an index that is not there.
Result<std::unique_ptr<Device>> CreateOpenclDevice(int index);
// One line per adapter of this machine, GPUs first.
Result<std::vector<std::string>> OpenclAdapters();

}  // namespace plumb

#endif  // PLUMB_DEVICE_OPENCL_OPENCL_DEVICE_H_
