// SPDX-License-Identifier: Apache-2.0
// The plans of kernel_list.def.
#ifndef PLUMB_DEVICE_GPU_KERNEL_LIST_H_
#define PLUMB_DEVICE_GPU_KERNEL_LIST_H_

#include "device/gpu/plan.h"

namespace plumb::gpu {

#define PLUMB_GPU_KERNEL(op, name, file) Status plan_##name(Plan* plan);
#include "device/gpu/kernel_list.def"
#undef PLUMB_GPU_KERNEL

}  // namespace plumb::gpu

#endif  // PLUMB_DEVICE_GPU_KERNEL_LIST_H_
