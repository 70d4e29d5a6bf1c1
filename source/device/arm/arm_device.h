// SPDX-License-Identifier: Apache-2.0
// The ARM device: the kernels of the CPU devices (device/cpu) with sums of products of our own, all on NEON.
#ifndef PLUMB_DEVICE_ARM_ARM_DEVICE_H_
#define PLUMB_DEVICE_ARM_ARM_DEVICE_H_

#include <memory>

#include "device/device.h"

namespace plumb {

// NotSupported when PLUMB_MAX_CPU_ISA names nothing known.
Result<std::unique_ptr<Device>> CreateArmDevice();

}  // namespace plumb

#endif  // PLUMB_DEVICE_ARM_ARM_DEVICE_H_
