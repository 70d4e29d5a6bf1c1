// SPDX-License-Identifier: Apache-2.0
// Kernels of ARM alone, in front of those that it shares with X86 (device/cpu/kernel_list.h): sums of products in f16
// arithmetic, for networks of LOW precision.
#ifndef PLUMB_DEVICE_ARM_HALF_KERNELS_H_
#define PLUMB_DEVICE_ARM_HALF_KERNELS_H_

#include "device/kernel.h"

namespace plumb::cpu {

// NotSupported where the network is not of LOW precision, which the device grants to a CPU with f16 arithmetic only.
inline Status RequireHalfArithmetic(const KernelSpec& spec) {
  return spec.precision == Precision::kLow ? Status::Ok() : Status::NotSupported("computes in f16, for precision LOW");
}

// Of half_tile.h. The bound of sums in f16 alone holds for sums in runs, and covers the rounding of weights.
inline Numerics HalfSumsNumerics() {
  Numerics numerics;
  numerics.accumulator = DType::kF16;
  return numerics;
}

#define PLUMB_ARM_KERNEL(op, name, file) extern const KernelFunctions kernel_##name;
#include "device/arm/kernel_list.def"
#undef PLUMB_ARM_KERNEL

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_ARM_HALF_KERNELS_H_
