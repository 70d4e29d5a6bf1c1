// SPDX-License-Identifier: Apache-2.0
// A walk as the kernels' arguments have it: MAX_RANK of common.clh numbers each.
#ifndef PLUMB_DEVICE_OPENCL_WALK_H_
#define PLUMB_DEVICE_OPENCL_WALK_H_

#include <vector>

#include "device/shared/walk.h"
#include "plumb/status.h"

namespace plumb::opencl {

constexpr int kMaxRank = 8;  // MAX_RANK of common.clh

// NotSupported when the walk has more dims than kernels take.
Status CheckRank(const Walk& walk);

// `to` holds kMaxRank numbers.
void PutDims(const std::vector<int64_t>& from, int* to);

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_WALK_H_
