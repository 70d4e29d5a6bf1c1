#include "device/opencl/walk.h"

#include <algorithm>
#include <string>

namespace plumb::opencl {

Status CheckRank(const Walk& walk) {
  if (walk.rank() <= kMaxRank) return Status::Ok();
  return Status::NotSupported("walks at most " + std::to_string(kMaxRank) + " dims, and " +
                              std::to_string(walk.rank()) + " cannot be joined");
}

void PutDims(const std::vector<int64_t>& from, int* to) {
  std::fill(to, to + kMaxRank, 0);
  for (size_t i = 0; i < from.size() && i < kMaxRank; ++i) to[i] = static_cast<int>(from[i]);
}

}  // namespace plumb::opencl
