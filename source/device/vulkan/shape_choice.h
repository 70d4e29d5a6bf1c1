// SPDX-License-Identifier: Apache-2.0
// Which of two shapes of a kernel runs: one for drivers on a CPU (register blocks, texel buffer reads), one for GPUs
// (tiles in shared memory, strips of a row, rows that many invocations share). The adapter's type decides;
// PLUMB_VULKAN_SHAPES=cpu or gpu overrides it.
#ifndef PLUMB_DEVICE_VULKAN_SHAPE_CHOICE_H_
#define PLUMB_DEVICE_VULKAN_SHAPE_CHOICE_H_

#include "device/kernel.h"

namespace plumb::vulkan {

enum class KernelShape { kCpu, kGpu };

// InvalidArgument when PLUMB_VULKAN_SHAPES is another word.
Status CheckShapeEnvironment();
// Whether kernels for drivers on a CPU are wanted on this adapter, and OK when kernels of that shape are.
bool WantsCpuShapes(const KernelSpec& spec);
Status RequireShape(const KernelSpec& spec, KernelShape shape);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_SHAPE_CHOICE_H_
