// ConstantOfShape and Range: values that are known before the network runs. A device makes them once, when its kernel
// is prepared, and copies them at each Forward.
#ifndef PLUMB_DEVICE_SHARED_FILL_H_
#define PLUMB_DEVICE_SHARED_FILL_H_

#include "device/kernel.h"

namespace plumb {

// Ok for ConstantOfShape of any dtype and for ranges of f32, i32 and i64.
Status SupportsFill(const KernelSpec& spec);

// The layer's output, dense. Ranges of whole numbers wrap around; those of f32 are fma(i, delta, start).
Result<Tensor> MakeFill(const KernelSpec& spec);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_FILL_H_
