// SPDX-License-Identifier: Apache-2.0
// Blobs that are made from known values alone.
//   ConstantOfShape  the resource "value" (one element, its dtype is the output's) repeated to the shape that the input
//   holds Range            start, start + delta, ... before limit; inputs start, limit, delta are scalars of one dtype
#ifndef PLUMB_OP_FILL_H_
#define PLUMB_OP_FILL_H_

#include "op/core/op.h"

namespace plumb {

// The largest count that Range accepts.
constexpr int64_t kMaxRange = int64_t{1} << 31;

// ceil((limit - start) / delta), at least 0.
Result<int64_t> RangeCount(const Tensor& start, const Tensor& limit, const Tensor& delta);

}  // namespace plumb

#endif  // PLUMB_OP_FILL_H_
