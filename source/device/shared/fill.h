// SPDX-License-Identifier: Apache-2.0
// Operators whose outputs are known before the network runs: ConstantOfShape, Range, Shape, Size, PlumbEyeLike, and of
// constants PlumbNonZero, PlumbUnique and PlumbNonMaxSuppression. A device makes them once, when its kernel is
// prepared, and copies them at each Forward.
#ifndef PLUMB_DEVICE_SHARED_FILL_H_
#define PLUMB_DEVICE_SHARED_FILL_H_

#include <vector>

#include "device/kernel.h"

namespace plumb {

// Ok for ranges of f32, i32 and i64, and for the others in any dtype.
Status SupportsFill(const KernelSpec& spec);

// The layer's outputs, dense. Ranges of whole numbers wrap around; those of f32 are fma(i, delta, start).
Result<std::vector<Tensor>> MakeFill(const KernelSpec& spec);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_FILL_H_
