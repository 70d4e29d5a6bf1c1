// SPDX-License-Identifier: Apache-2.0
// Conversion between element types, as Tensor::ConvertedTo does it.
#ifndef PLUMB_BASE_CONVERT_H_
#define PLUMB_BASE_CONVERT_H_

#include <cstdint>

#include "plumb/tensor.h"

namespace plumb {

// dst[i] = src[i] in the other type: floats round to nearest even, integers wrap, float to integer truncates and
// saturates (NaN gives 0), anything to bool is != 0. The arrays must not overlap. Threading: safe on disjoint arrays.
void ConvertElements(DType from, const void* src, DType to, void* dst, int64_t count);

}  // namespace plumb

#endif  // PLUMB_BASE_CONVERT_H_
