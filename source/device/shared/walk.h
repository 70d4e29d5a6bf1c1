// SPDX-License-Identifier: Apache-2.0
// Walk: how a kernel visits the elements of several blobs together: one list of dims, outermost first, and one list of
// strides per blob, in elements (0 where it repeats).
#ifndef PLUMB_DEVICE_SHARED_WALK_H_
#define PLUMB_DEVICE_SHARED_WALK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumb {

struct Walk {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;

  // Drops dims of 1 and joins neighbours that one stride walks in every blob, so that kernels need few; one dim stays.
  void Simplify();
  size_t rank() const { return dims.size(); }
  int64_t count() const;
};

// Operands in C order, broadcast to `out` as NumPy does (aligned at the last dim); simplified.
Walk BroadcastWalk(const std::vector<std::vector<int64_t>>& operands, const std::vector<int64_t>& out);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_WALK_H_
