// SPDX-License-Identifier: Apache-2.0
// Kernels of a host device in guarded memory: the test's row stands in front of the device's list, takes the kernel
// that the device would take, and runs it on copies of its tensors with a known pattern before and behind each.
#ifndef PLUMB_TEST_OP_GUARD_KERNEL_H_
#define PLUMB_TEST_OP_GUARD_KERNEL_H_

#include <vector>

#include "device/kernel.h"

namespace plumb {

// For Device::kernels_in_front: one row per operator. A kernel that writes outside its outputs, or into an
// input, makes Forward return Internal with the tensor and the byte. Outputs start as NaN, so that an element that
// nobody writes shows. No memory is shared between tensors. Refuses every layer on devices whose memory the host cannot
// reach.
std::vector<KernelRow> GuardedKernels();

}  // namespace plumb

#endif  // PLUMB_TEST_OP_GUARD_KERNEL_H_
