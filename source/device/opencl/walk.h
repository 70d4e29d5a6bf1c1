// Walk: how a kernel visits the elements of several blobs together: one list of dims, one list of strides per blob (0
// where it repeats). Dims of 1 go, and dims that every blob walks like one become one, so that kernels need few.
#ifndef PLUMB_DEVICE_OPENCL_WALK_H_
#define PLUMB_DEVICE_OPENCL_WALK_H_

#include <algorithm>
#include <vector>

#include "plumb/shape.h"
#include "plumb/status.h"

namespace plumb::opencl {

constexpr int kMaxRank = 8;  // MAX_RANK of common.clh

struct Walk {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;

  // Operands in C order, broadcast to `out` as NumPy does (aligned at the last dim).
  static Walk Broadcast(const std::vector<int64_t>& out, const std::vector<std::vector<int64_t>>& operands);
  void Simplify();
  // NotSupported when more dims are left than kernels take.
  Status Check() const;
  // Into a kernel's argument: `to` holds kMaxRank numbers.
  void PutDims(int* to) const { Put(dims, to); }
  void PutStrides(size_t operand, int* to) const { Put(strides[operand], to); }
  int rank() const { return static_cast<int>(dims.size()); }
  int64_t count() const;

 private:
  static void Put(const std::vector<int64_t>& from, int* to) {
    std::fill(to, to + kMaxRank, 0);
    for (size_t i = 0; i < from.size() && i < kMaxRank; ++i) to[i] = static_cast<int>(from[i]);
  }
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_WALK_H_
