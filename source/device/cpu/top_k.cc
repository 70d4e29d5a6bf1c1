// SPDX-License-Identifier: Apache-2.0
// TopK and PlumbTopK in plain order.
#include <algorithm>
#include <cmath>
#include <utility>

#include "device/cpu/function_kernel.h"
#include "op/top_k.h"

namespace plumb::cpu {
namespace {

template <class T>
bool Before(T a, T b) {  // a is the larger one; NaN is larger than every number
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return !std::isnan(b);
    if (std::isnan(b)) return false;
  }
  return a > b;
}

Status TopK(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(layer, WithValues(in)));
  return WithNumber(in[0].dtype, [&](auto number) {
    using T = decltype(number);
    ParallelFor(s.outer * s.inner, std::max<int64_t>(1, kFunctionGrain / (s.size + 1)),
                [&](int64_t begin, int64_t end) {
                  std::vector<std::pair<T, int64_t>> row(static_cast<size_t>(s.size));
                  for (int64_t r = begin; r < end; ++r) {
                    const T* x = in[0].host<T>() + r / s.inner * s.size * s.inner + r % s.inner;
                    for (int64_t i = 0; i < s.size; ++i) row[static_cast<size_t>(i)] = {x[i * s.inner], i};
                    std::partial_sort(row.begin(), row.begin() + s.k, row.end(), [&](const auto& a, const auto& b) {
                      if (Before(a.first, b.first)) return s.largest;
                      if (Before(b.first, a.first)) return !s.largest;
                      return a.second < b.second;
                    });
                    const int64_t to = r / s.inner * s.k * s.inner + r % s.inner;
                    for (int64_t i = 0; i < s.k; ++i) {
                      const auto& [value, index] = row[static_cast<size_t>(i)];
                      out[0].host<T>()[to + i * s.inner] = value;
                      if (out[1].dtype == DType::kI64) {
                        out[1].host<int64_t>()[to + i * s.inner] = index;
                      } else {
                        out[1].host<int32_t>()[to + i * s.inner] = static_cast<int32_t>(index);
                      }
                    }
                  }
                });
    return Status::Ok();
  });
}

}  // namespace

const KernelFunctions kernel_top_k = FunctionKernelOf<TopK, Takes::kNumbers>();

}  // namespace plumb::cpu
