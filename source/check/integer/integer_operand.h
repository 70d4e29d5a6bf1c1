// SPDX-License-Identifier: Apache-2.0
// IntegerOperand: integers with the scale and the zero point that they have.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_OPERAND_H_
#define PLUMB_CHECK_INTEGER_INTEGER_OPERAND_H_

#include <cstdint>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

// scale * whole, whole = q - zero.
struct IntegerOperand {
  Tensor whole;  // f64
  float scale = 0;
  int64_t zero = 0;
  bool broadcast = false;  // it had fewer elements
  // Of each entry of dim 1, of TNN's blobs that have several; empty: `scale` of all.
  std::vector<float> scales = {};
};

// Of element i of such a tensor.
inline float ScaleAt(const std::vector<float>& scales, float one, const Shape& shape, int64_t i) {
  return scales.empty() ? one : scales[static_cast<size_t>(i / shape.CountFrom(2)) % scales.size()];
}

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_OPERAND_H_
