// SPDX-License-Identifier: Apache-2.0
#include "check/core/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plumb {

bool IsScoreVector(const Shape& shape) {
  int64_t largest = 0;
  for (int64_t dim : shape.dims()) largest = std::max(largest, dim);
  return largest >= 5 && largest == shape.NumElements();
}

std::vector<int64_t> TopIndices(const Tensor& tensor, int count) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.NumElements()));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int64_t i) {
    const double value = tensor.ValueAt(i);
    return std::isnan(value) ? -INFINITY : value;
  };
  const auto end = order.begin() + std::min<ptrdiff_t>(count, static_cast<ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](int64_t a, int64_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  order.resize(static_cast<size_t>(end - order.begin()));
  return order;
}

}  // namespace plumb
