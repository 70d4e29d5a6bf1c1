// SPDX-License-Identifier: Apache-2.0
// Float constants that a DequantizeLinear of the model made while it was loaded (weights, biases): which integers they
// stand for.
#ifndef PLUMB_CHECK_INTEGER_WHOLE_CONSTANTS_H_
#define PLUMB_CHECK_INTEGER_WHOLE_CONSTANTS_H_

#include "check/judge/scene.h"

namespace plumb {

// Element by element scale * whole.
struct WholeConstant {
  Tensor whole;      // f64: q - zero point
  Tensor scale;      // f32
  int64_t zero = 0;  // of one zero point; else of the first
  Tensor product;    // f32, ImportRecord::product_scales; empty: none
};

// NotFound: no DequantizeLinear made it. A matrix may be transposed since.
Result<WholeConstant> WholeConstantOf(const Scene& scene, const Tensor& constant);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_WHOLE_CONSTANTS_H_
