// SPDX-License-Identifier: Apache-2.0
// PlumbMatMulInteger with what turns its sums into reals, as quantised networks have it: a Cast to f32, a product with
// one scale or one per column, the addition of one number per column. Behind a convolution whose windows were the
// columns there is a Reshape in front, and what is one per channel is one per row.
#ifndef PLUMB_DEVICE_CPU_SCALED_SUMS_H_
#define PLUMB_DEVICE_CPU_SCALED_SUMS_H_

#include <vector>

#include "device/kernel.h"
#include "simd/integer_product.h"

namespace plumb::cpu {

// A member's other operand: one number, one per column (step 1), or one per row of all groups' (row_step 1).
struct SumOperand {
  int member = -1, slot = -1;  // where it is an input of the group
  Tensor element;              // where it is the layer's own
  int64_t step = 0, row_step = 0;

  bool present() const { return member >= 0; }
  // Its values in this Forward; null when it is not present.
  const float* Find(const LayerGroup& group, const std::vector<DeviceTensor>& inputs) const;
  // For rows from `row` of the channels on.
  simd::SumFactor FactorAt(const LayerGroup& group, const std::vector<DeviceTensor>& inputs, int64_t row) const;
};

struct ScaledSums {
  bool real = false;     // the sums become f32
  int64_t channels = 1;  // where there is a Reshape: rows of all groups
  SumOperand scale, shift;
};

// NotSupported when the members are not such a sequence.
Result<ScaledSums> ReadScaledSums(const std::vector<const Layer*>& members, const BlobTable& blobs);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_SCALED_SUMS_H_
