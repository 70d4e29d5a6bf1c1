#include "device/opencl/walk.h"

namespace plumb::opencl {

Walk Walk::Broadcast(const std::vector<int64_t>& out, const std::vector<std::vector<int64_t>>& operands) {
  Walk walk;
  walk.dims = out;
  for (const auto& dims : operands) {
    std::vector<int64_t> strides(out.size(), 0);
    int64_t step = 1;
    for (size_t i = 0; i < dims.size() && i < out.size(); ++i) {
      const int64_t dim = dims[dims.size() - 1 - i];
      strides[out.size() - 1 - i] = dim == 1 ? 0 : step;
      step *= dim;
    }
    walk.strides.push_back(std::move(strides));
  }
  walk.Simplify();
  return walk;
}

void Walk::Simplify() {
  Walk merged;
  merged.strides.resize(strides.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool joins = !merged.dims.empty();
    for (size_t s = 0; s < strides.size() && joins; ++s) joins = merged.strides[s].back() == strides[s][d] * dims[d];
    if (joins) {
      merged.dims.back() *= dims[d];
    } else {
      merged.dims.push_back(dims[d]);
    }
    for (size_t s = 0; s < strides.size(); ++s) {
      if (joins) {
        merged.strides[s].back() = strides[s][d];
      } else {
        merged.strides[s].push_back(strides[s][d]);
      }
    }
  }
  *this = std::move(merged);
}

Status Walk::Check() const {
  if (rank() <= kMaxRank) return Status::Ok();
  return Status::NotSupported("walks at most " + std::to_string(kMaxRank) + " dims, and " + std::to_string(rank()) +
                              " cannot be joined");
}

int64_t Walk::count() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace plumb::opencl
