// SPDX-License-Identifier: Apache-2.0
// Outputs that are read as scores of classes.
#ifndef PLUMB_CHECK_CORE_SCORES_H_
#define PLUMB_CHECK_CORE_SCORES_H_

#include <cstdint>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

// [N], [1,N], [1,N,1,1] with N >= 5: what people take the top-5 of.
bool IsScoreVector(const Shape& shape);
// Indices of the largest values, largest first, ties by index, NaN last.
std::vector<int64_t> TopIndices(const Tensor& tensor, int count);

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_SCORES_H_
