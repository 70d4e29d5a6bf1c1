// SPDX-License-Identifier: Apache-2.0
// The X86 device: oneDNN for sums of products, the kernels of the CPU devices (device/cpu) for the rest, AVX2 or
// AVX-512 chosen at run time.
#ifndef PLUMB_DEVICE_X86_X86_DEVICE_H_
#define PLUMB_DEVICE_X86_X86_DEVICE_H_

#include <memory>

#include "base/cpu.h"
#include "device/device.h"

namespace plumb {

// NotFound on a CPU for which CheckX86Cpu is not OK; NotSupported when PLUMB_MAX_CPU_ISA names nothing known, or oneDNN
// cannot be held to it any more.
Result<std::unique_ptr<Device>> CreateX86Device();

// NotFound when a CPU has less than the vector kernels are compiled for: they begin at SSE4.2. What the CPU has counts,
// not what PLUMB_MAX_CPU_ISA allows: GENERIC holds the device to SSE4 where the CPU has it.
Status CheckX86Cpu(Isa cpu);

}  // namespace plumb

#endif  // PLUMB_DEVICE_X86_X86_DEVICE_H_
