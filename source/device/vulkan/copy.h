// SPDX-License-Identifier: Apache-2.0
// Strided copies between tensors: copy.comp.
#ifndef PLUMB_DEVICE_VULKAN_COPY_H_
#define PLUMB_DEVICE_VULKAN_COPY_H_

#include "device/shared/walk.h"
#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {

constexpr size_t kCopyRank = 9;

// A launch from `src` to `dst` along walk.strides[0] of the source and [1] of the destination, from these elements on.
// REQUIRES: walk.rank() <= kCopyRank.
LaunchSpec CopySpec(DType dtype, const Argument& dst, const Argument& src, const Walk& walk, int64_t src_offset,
                    int64_t dst_offset);
// The whole of `src`, element by element.
LaunchSpec CopyAllSpec(DType dtype, const Argument& dst, const Argument& src, int64_t count);
// Whether both tensors are the same memory: the runtime granted a view.
bool SameMemory(const DeviceTensor& a, const DeviceTensor& b, size_t offset_in_a = 0);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_COPY_H_
