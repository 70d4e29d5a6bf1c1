// SPDX-License-Identifier: Apache-2.0
// How large something compressed may become: a few kilobytes can hold gigabytes of zeros.
#ifndef PLUMB_TENSOR_UNPACKED_LIMIT_H_
#define PLUMB_TENSOR_UNPACKED_LIMIT_H_

#include <algorithm>
#include <cstdint>

#include "base/memory_budget.h"

namespace plumb {

// 256 MiB are unpacked in a fraction of a second. Values that are not all the same are packed to a tenth at best.
constexpr uint64_t kAlwaysUnpacked = uint64_t{256} << 20;
constexpr uint64_t kMaxUnpackedRatio = 100;
constexpr const char* kUnpackedRule =
    "(what is compressed may unpack to 100 times its size or 256 MiB; whatever is larger must be stored as it is)";

// Of `packed` bytes; `max_bytes`: of the caller.
inline uint64_t UnpackedLimit(uint64_t packed, uint64_t max_bytes) {
  return std::min({max_bytes, MemoryBudget(), std::max(kAlwaysUnpacked, kMaxUnpackedRatio * packed)});
}

}  // namespace plumb

#endif  // PLUMB_TENSOR_UNPACKED_LIMIT_H_
