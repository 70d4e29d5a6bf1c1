// SPDX-License-Identifier: Apache-2.0
// PlumbMaxUnpool (op/pool_nd.h) in plain order: zeros, and each input where its index says.
#include <fmt/core.h>

#include <cstring>

#include "device/cpu/function_kernel.h"
#include "op/pool_nd.h"

namespace plumb::cpu {
namespace {

Status MaxUnpool(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const UnpoolShape s, ResolveUnpool(layer, WithValues(in)));
  std::memset(out[0].host<char>(), 0, out[0].bytes());
  const int64_t* indices = in[1].host<int64_t>();
  return WithBits(out[0].dtype, [&](auto bits) {
    using T = decltype(bits);
    for (int64_t i = 0; i < in[0].shape.NumElements(); ++i) {
      int64_t rest = indices[i], to = 0, step = 1;
      if (rest < 0 || rest >= s.inferred.NumElements()) {
        return Status::InvalidArgument(
            fmt::format("index {} at position {} is outside {}", rest, i, s.inferred.ToString()));
      }
      for (int d = s.out.rank() - 1; d >= 0; --d) {
        to += rest % s.inferred[d] * step;
        rest /= s.inferred[d];
        step *= s.out[d];
      }
      out[0].host<T>()[to] = in[0].host<T>()[i];
    }
    return Status::Ok();
  });
}

}  // namespace

const KernelFunctions kernel_max_unpool = FunctionKernelOf<MaxUnpool, Takes::kAny>();

}  // namespace plumb::cpu
