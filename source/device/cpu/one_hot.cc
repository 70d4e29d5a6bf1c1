// SPDX-License-Identifier: Apache-2.0
// OneHot and PlumbOneHot in plain order.
#include "op/one_hot.h"

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

Status OneHot(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const OneHotShape s, ResolveOneHot(layer, WithValues(in)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor indices, ViewOf(in[0]).ConvertedTo(DType::kI64));
  float own[2] = {0, 1};
  if (layer.kind == OpKind::kOneHot) {
    own[0] = ParamOf<OneHotParam>(layer).off_value;
    own[1] = ParamOf<OneHotParam>(layer).on_value;
  }
  const void* values = layer.kind == OpKind::kOneHot ? own : in[2].host<void>();
  return WithBits(out[0].dtype, [&](auto bits) {
    using T = decltype(bits);
    const T* pair = static_cast<const T*>(values);
    T* y = out[0].host<T>();
    for (int64_t i = 0; i < out[0].shape.NumElements(); ++i) {
      const int64_t wanted = indices.data<int64_t>()[i / (s.depth * s.inner) * s.inner + i % s.inner];
      const int64_t here = i / s.inner % s.depth;
      y[i] = pair[wanted == here || wanted + s.depth == here ? 1 : 0];
    }
    return Status::Ok();
  });
}

}  // namespace

const KernelFunctions kernel_one_hot = FunctionKernelOf<OneHot, Takes::kAny>();

}  // namespace plumb::cpu
