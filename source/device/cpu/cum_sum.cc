// SPDX-License-Identifier: Apache-2.0
// PlumbCumSum in plain order; integers wrap around.
#include <algorithm>
#include <type_traits>

#include "device/cpu/function_kernel.h"
#include "op/cum_sum.h"

namespace plumb::cpu {
namespace {

Status CumSum(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  const auto& p = ParamOf<CumSumParam>(layer);
  PLUMB_ASSIGN_OR_RETURN(const int axis, CumSumAxis(layer, WithValues(in)));
  const int64_t size = in[0].shape[axis], inner = in[0].shape.CountFrom(axis + 1);
  return WithNumber(in[0].dtype, [&](auto number) {
    using T = decltype(number);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
    std::vector<Sum> sums(static_cast<size_t>(inner));
    for (int64_t o = 0; o < in[0].shape.Count(0, axis); ++o) {
      std::fill(sums.begin(), sums.end(), Sum{0});
      for (int64_t i = 0; i < size; ++i) {
        const int64_t at = (o * size + (p.reverse ? size - 1 - i : i)) * inner;
        for (int64_t k = 0; k < inner; ++k) {
          Sum& sum = sums[static_cast<size_t>(k)];
          const Sum before = sum;
          sum += static_cast<Sum>(in[0].host<T>()[at + k]);
          out[0].host<T>()[at + k] = static_cast<T>(p.exclusive ? before : sum);
        }
      }
    }
    return Status::Ok();
  });
}

}  // namespace

const KernelFunctions kernel_cum_sum = FunctionKernelOf<CumSum, Takes::kNumbers>();

}  // namespace plumb::cpu
