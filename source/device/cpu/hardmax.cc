// SPDX-License-Identifier: Apache-2.0
// PlumbHardmax in plain order: 1 at the first of the largest elements along the axis (a NaN is larger than all), else
// 0.
#include <cmath>
#include <cstring>

#include "device/cpu/function_kernel.h"
#include "op/hardmax.h"

namespace plumb::cpu {
namespace {

template <class T>
Status HardmaxOf(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<HardmaxParam>(layer).axis, in[0].shape.rank()));
  const int64_t size = in[0].shape[axis], inner = in[0].shape.CountFrom(axis + 1);
  const T* x = in[0].host<T>();
  T* y = out[0].host<T>();
  std::memset(y, 0, out[0].bytes());
  for (int64_t r = 0; size > 0 && r < in[0].shape.Count(0, axis) * inner; ++r) {
    const int64_t start = r / inner * size * inner + r % inner;
    int64_t best = start;
    for (int64_t i = start; i < start + size * inner && !std::isnan(x[best]); i += inner) {
      if (x[i] > x[best] || std::isnan(x[i])) best = i;
    }
    y[best] = 1;
  }
  return Status::Ok();
}

Status Hardmax(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  return in[0].dtype == DType::kF64 ? HardmaxOf<double>(layer, in, out) : HardmaxOf<float>(layer, in, out);
}

}  // namespace

const KernelFunctions kernel_hardmax = FunctionKernelOf<Hardmax, Takes::kFloats>();

}  // namespace plumb::cpu
