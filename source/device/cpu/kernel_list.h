// SPDX-License-Identifier: Apache-2.0
// The CPU devices' ordered kernel list and their fusion rule. A kernel is one row of kernel_list.def and one file,
// which defines
//   const KernelFunctions kernel_<name>;
#ifndef PLUMB_DEVICE_CPU_KERNEL_LIST_H_
#define PLUMB_DEVICE_CPU_KERNEL_LIST_H_

#include <vector>

#include "device/kernel.h"

namespace plumb::cpu {

const std::vector<KernelRow>& KernelList();
// Whether `next` may join the group: some kernel must be able to compute the longer group.
bool MayFuse(const LayerGroup& group, const Layer& next, const BlobTable& blobs);

#define PLUMB_CPU_KERNEL(op, name, file) extern const KernelFunctions kernel_##name;
#include "device/cpu/kernel_list.def"
#undef PLUMB_CPU_KERNEL
extern const KernelFunctions kernel_strided;

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_KERNEL_LIST_H_
