// SPDX-License-Identifier: Apache-2.0
// IntegerOperand: integers with the scale and the zero point that they have.
#ifndef PLUMB_CHECK_INTEGER_INTEGER_OPERAND_H_
#define PLUMB_CHECK_INTEGER_INTEGER_OPERAND_H_

#include <cstdint>

#include "plumb/tensor.h"

namespace plumb {

// scale * whole, whole = q - zero.
struct IntegerOperand {
  Tensor whole;  // f64
  float scale = 0;
  int64_t zero = 0;
  bool broadcast = false;  // it had fewer elements
};

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_INTEGER_OPERAND_H_
