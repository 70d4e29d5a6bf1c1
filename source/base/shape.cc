// SPDX-License-Identifier: Apache-2.0
#include "plumb/tensor.h"

#include <fmt/core.h>

namespace plumb {
namespace {
constexpr int64_t kMaxElements = int64_t{1} << 40;
}  // namespace

int64_t Shape::Count(int from, int to) const {
  int64_t count = 1;
  for (int i = from; i < to; ++i) count *= dims_[static_cast<size_t>(i)];
  return count;
}

Status Shape::Validate() const {
  int64_t count = 1;  // of the dims that are not zero, so that no product of some of them overflows either
  for (int64_t dim : dims_) {
    if (dim < 0) return Status::InvalidArgument(fmt::format("shape {} has a negative dim", ToString()));
    if (dim > kMaxElements / count) {
      return Status::InvalidArgument(
          fmt::format("shape {} has more than 2^40 elements, zero dims left out", ToString()));
    }
    if (dim > 0) count *= dim;
  }
  return Status::Ok();
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(dims_[i]);
  }
  return text + "]";
}

}  // namespace plumb
