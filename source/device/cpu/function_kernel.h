// SPDX-License-Identifier: Apache-2.0
// Kernels whose work is one function of the layer and its tensors, in plain order. What depends on indices is resolved
// in each Run: such layers are rare and small.
#ifndef PLUMB_DEVICE_CPU_FUNCTION_KERNEL_H_
#define PLUMB_DEVICE_CPU_FUNCTION_KERNEL_H_

#include <fmt/core.h>

#include <vector>

#include "base/by_dtype.h"
#include "base/threads.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {

constexpr int64_t kFunctionGrain = 1 << 14;  // elements or operations that are worth a second thread

inline Tensor ViewOf(const DeviceTensor& t) { return Tensor::View(t.dtype, t.shape, t.host<char>(), t.buffer); }

// The inputs with the values of this Forward, as the shape rules of source/op take them.
inline std::vector<BlobInfo> WithValues(const std::vector<DeviceTensor>& inputs) {
  std::vector<BlobInfo> infos;
  infos.reserve(inputs.size());
  for (const DeviceTensor& in : inputs) infos.push_back({in.dtype, in.shape, ViewOf(in)});
  return infos;
}

// i64 values of an integer tensor, for a vector that is kept between Forwards.
inline void ReadWhole(const DeviceTensor& t, std::vector<int64_t>* values) {
  values->resize(static_cast<size_t>(t.shape.NumElements()));
  const Tensor view = ViewOf(t);
  for (size_t i = 0; i < values->size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (*values)[i] = t.dtype == DType::kI64 ? t.host<int64_t>()[at] : static_cast<int64_t>(view.ValueAt(at));
  }
}

// y[i] = x[from[i]].
inline Status PickElements(const std::vector<int64_t>& from, const DeviceTensor& in, const DeviceTensor& out) {
  return WithBits(in.dtype, [&](auto bits) {
    using T = decltype(bits);
    const T* x = in.host<T>();
    T* y = out.host<T>();
    ParallelFor(static_cast<int64_t>(from.size()), kFunctionGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[from[static_cast<size_t>(i)]];
    });
    return Status::Ok();
  });
}

using RunFunction = Status (*)(const Layer&, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&);

// What the function takes as its first input: any dtype; f32, f64, i32 and i64; f32 and f64; or f32.
enum class Takes { kAny, kNumbers, kFloats, kF32 };

inline Status RequireFirst(Takes takes, DType dtype) {
  if (takes == Takes::kAny || dtype == DType::kF32) return Status::Ok();
  if (takes == Takes::kF32) return Status::NotSupported(fmt::format("takes f32, found {}", DTypeName(dtype)));
  if (takes == Takes::kFloats && dtype != DType::kF64)
    return Status::NotSupported(fmt::format("takes f32 and f64, found {}", DTypeName(dtype)));
  if (dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64) return Status::Ok();
  return Status::NotSupported(fmt::format("takes f32, f64, i32 and i64, found {}", DTypeName(dtype)));
}

template <RunFunction run, Takes takes>
class FunctionKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return RequireFirst(takes, spec.inputs[0].dtype);
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    layer_ = &spec.layer();
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    return run(*layer_, inputs, outputs);
  }

 private:
  const Layer* layer_ = nullptr;
};

template <RunFunction run, Takes takes>
constexpr KernelFunctions FunctionKernelOf() {
  return {FunctionKernel<run, takes>::Supports, MakeKernel<FunctionKernel<run, takes>>};
}

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_FUNCTION_KERNEL_H_
