// SPDX-License-Identifier: Apache-2.0
// Networks of NORMAL and LOW precision on a CPU: every f32 blob between two layers is stored as f16 (half_layout.h). A
// kernel that reads and writes f16 itself asks for such layouts; any other computes on f32 copies of its inputs in its
// workspace, and what it made is rounded once.
#ifndef PLUMB_DEVICE_CPU_HALF_STORAGE_H_
#define PLUMB_DEVICE_CPU_HALF_STORAGE_H_

#include <memory>

#include "device/kernel.h"

namespace plumb::cpu {

std::unique_ptr<Kernel> WithHalfStorage(std::unique_ptr<Kernel> kernel);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_HALF_STORAGE_H_
