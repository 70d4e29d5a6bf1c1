// PlumbMatMulInteger with what turns its sums into reals, as quantised networks have it: a Cast to f32, a product with
// one scale or one per column, the addition of one number per column.
#ifndef PLUMB_DEVICE_X86_SCALED_SUMS_H_
#define PLUMB_DEVICE_X86_SCALED_SUMS_H_

#include <vector>

#include "device/kernel.h"

namespace plumb::x86 {

// A member's other operand: one number, or one per column (step 1).
struct ColumnOperand {
  int member = -1, slot = -1;  // where it is an input of the group
  Tensor element;              // where it is the layer's own
  int64_t step = 0;

  bool present() const { return member >= 0; }
  // Its values in this Forward; null when it is not present.
  const float* Find(const LayerGroup& group, const std::vector<DeviceTensor>& inputs) const;
};

struct ScaledSums {
  bool real = false;  // the sums become f32
  ColumnOperand scale, shift;
};

// NotSupported when the members are not such a sequence.
Result<ScaledSums> ReadScaledSums(const std::vector<const Layer*>& members, const BlobTable& blobs);

}  // namespace plumb::x86

#endif  // PLUMB_DEVICE_X86_SCALED_SUMS_H_
