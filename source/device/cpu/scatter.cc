// SPDX-License-Identifier: Apache-2.0
// ScatterElements, ScatterND and their Plumb relatives in plain order: the data copied, then updated index by index.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "device/cpu/function_kernel.h"
#include "op/scatter.h"

namespace plumb::cpu {
namespace {

template <class T>
T CombineElements(Reduction reduction, T old, T update) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == Reduction::kAdd) return old + update;
    if (reduction == Reduction::kMul) return old * update;
    if (std::isnan(update)) return update;
  } else {
    using U = std::make_unsigned_t<T>;
    if (reduction == Reduction::kAdd) return static_cast<T>(static_cast<U>(old) + static_cast<U>(update));
    if (reduction == Reduction::kMul) return static_cast<T>(static_cast<U>(old) * static_cast<U>(update));
  }
  const bool take = reduction == Reduction::kMin ? update < old : update > old;
  return take ? update : old;
}

Status Scatter(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const ScatterShape s, ResolveScatter(layer, WithValues(in)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, ScatterTargets(s, in[0].shape, ViewOf(in[1])));
  if (out[0].host<char>() != in[0].host<char>()) std::memcpy(out[0].host<char>(), in[0].host<char>(), in[0].bytes());
  if (s.reduction == Reduction::kNone) {
    const size_t bytes = static_cast<size_t>(s.slice) * DTypeSize(in[0].dtype), size = DTypeSize(in[0].dtype);
    for (size_t t = 0; t < targets.size(); ++t) {
      std::memcpy(out[0].host<char>() + static_cast<size_t>(targets[t]) * size, in[2].host<char>() + t * bytes, bytes);
    }
    return Status::Ok();
  }
  return WithNumber(in[0].dtype, [&](auto number) {
    using T = decltype(number);
    const T* updates = in[2].host<T>();
    for (const int64_t target : targets) {
      T* y = out[0].host<T>() + target;
      for (int64_t k = 0; k < s.slice; ++k) y[k] = CombineElements(s.reduction, y[k], *updates++);
    }
    return Status::Ok();
  });
}

}  // namespace

const KernelFunctions kernel_scatter = FunctionKernelOf<Scatter, Takes::kAny>();

}  // namespace plumb::cpu
