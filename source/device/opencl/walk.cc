// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace plumb::opencl {

Status CheckRank(const Walk& walk) {
  if (walk.rank() <= kMaxRank) return Status::Ok();
  return Status::NotSupported(fmt::format("walks at most {} dims, and {} cannot be joined", kMaxRank, walk.rank()));
}

void PutDims(const std::vector<int64_t>& from, int* to) {
  std::fill(to, to + kMaxRank, 0);
  for (size_t i = 0; i < from.size() && i < kMaxRank; ++i) to[i] = static_cast<int>(from[i]);
}

}  // namespace plumb::opencl
