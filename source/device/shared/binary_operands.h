// SPDX-License-Identifier: Apache-2.0
// The two operands of a binary element-wise layer, as every device's kernel needs them.
#ifndef PLUMB_DEVICE_SHARED_BINARY_OPERANDS_H_
#define PLUMB_DEVICE_SHARED_BINARY_OPERANDS_H_

#include <vector>

#include "device/kernel.h"

namespace plumb {

struct BinaryOperands {
  Shape shape[2];
  int constant = -1;  // the operand that is the layer's resource; -1: both are inputs
  Tensor element;     // that resource: the input's dtype, the operand's shape

  // Whether blobs in channel blocks may stay so: equal rank and channels, so that lane by lane the operands belong
  // together, or one of them is a single constant.
  bool FitsBlocks() const;
  bool has_single_constant() const { return constant >= 0 && element.NumElements() == 1; }
};

// NotFound when the layer has neither a second input nor a resource.
Result<BinaryOperands> BinaryOperandsOf(const KernelSpec& spec);

// The dims of a map as they lie in memory in blocks of `block` channels: [N, blocks, spatial ..., block]; a single
// value stays single. A block of 1 is plain order.
std::vector<int64_t> MemoryDims(const Shape& shape, int64_t block);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_BINARY_OPERANDS_H_
