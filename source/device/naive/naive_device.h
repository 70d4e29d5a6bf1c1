// SPDX-License-Identifier: Apache-2.0
// The NAIVE device: the reference kernels run as a device of their own, in f32 storage.
#ifndef PLUMB_DEVICE_NAIVE_NAIVE_DEVICE_H_
#define PLUMB_DEVICE_NAIVE_NAIVE_DEVICE_H_

#include <memory>

#include "device/device.h"

namespace plumb {

std::unique_ptr<Device> CreateNaiveDevice();

}  // namespace plumb

#endif  // PLUMB_DEVICE_NAIVE_NAIVE_DEVICE_H_
