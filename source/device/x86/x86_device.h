// The X86 device: oneDNN for sums of products, vector kernels (device/simd) for the rest, AVX2 or AVX-512 chosen at run
// time.
#ifndef PLUMB_DEVICE_X86_X86_DEVICE_H_
#define PLUMB_DEVICE_X86_X86_DEVICE_H_

#include <memory>

#include "device/device.h"

namespace plumb {

// NotSupported when PLUMB_MAX_CPU_ISA names nothing known, or oneDNN cannot be held to it any more.
Result<std::unique_ptr<Device>> CreateX86Device();

}  // namespace plumb

#endif  // PLUMB_DEVICE_X86_X86_DEVICE_H_
