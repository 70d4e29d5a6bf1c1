// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizeLinear and PlumbDequantizeLinear in plain order, on simd/quantize.h.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "device/cpu/function_kernel.h"
#include "op/quantize_linear.h"

#include "simd/quantize.h"

namespace plumb::cpu {
namespace {

class QuantizeKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    const bool quantize = spec.layer().kind == OpKind::kPlumbQuantizeLinear;
    const DType real = quantize ? spec.inputs[0].dtype : spec.outputs[0].dtype;
    if (real == DType::kF32 && spec.inputs[1].dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(
        fmt::format("takes f32 and scales of f32, found {} and {}", DTypeName(real), DTypeName(spec.inputs[1].dtype)));
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    quantize_ = spec.layer().kind == OpKind::kPlumbQuantizeLinear;
    zero_points_.assign(static_cast<size_t>(spec.inputs[1].shape.NumElements()), 0);
    PLUMB_ASSIGN_OR_RETURN(s_, ResolveQuant(spec.layer(), spec.inputs));
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    if (inputs.size() > 2) ReadWhole(inputs[2], &zero_points_);
    const bool widen = !quantize_ && inputs[0].dtype != DType::kI64;
    if (widen) ReadWhole(inputs[0], &whole_);
    const float* scales = inputs[1].host<float>();
    ParallelFor(outputs[0].shape.NumElements(), kFunctionGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, count = 0; i < end; i += count) {
        const int64_t at = s_.ScaleOf(i), zero_point = zero_points_[static_cast<size_t>(at)];
        count = std::min(s_.RunFrom(i), end - i);
        if (quantize_) {
          Quantize(inputs[0].host<float>() + i, scales[at], zero_point, count, outputs[0].host<int64_t>() + i);
        } else {
          const int64_t* q = widen ? whole_.data() : inputs[0].host<int64_t>();
          simd::Dequantize(q + i, zero_point, scales[at], outputs[0].host<float>() + i, static_cast<size_t>(count));
        }
      }
    });
    return Status::Ok();
  }

 private:
  void Quantize(const float* x, float scale, int64_t zero_point, int64_t count, int64_t* y) const {
    constexpr int64_t kExact = 1 << 22;
    if (s_.high < kExact && std::abs(zero_point) < kExact) {
      const auto narrow = [](int64_t v) { return static_cast<int32_t>(v); };
      const simd::QuantizeRange range{scale, narrow(zero_point), narrow(s_.low), narrow(s_.high)};
      return simd::Quantize(x, range, y, static_cast<size_t>(count));
    }
    for (int64_t i = 0; i < count; ++i) y[i] = Quantized(x[i] / scale, zero_point);
  }
  int64_t Quantized(float quotient, int64_t zero_point) const {
    if (std::isnan(quotient)) return zero_point;
    const double q = std::nearbyint(static_cast<double>(quotient)) + static_cast<double>(zero_point);
    if (q <= static_cast<double>(s_.low)) return s_.low;
    return q >= static_cast<double>(s_.high) ? s_.high : static_cast<int64_t>(q);
  }

  bool quantize_ = false;
  QuantShape s_;
  std::vector<int64_t> zero_points_, whole_;
};

}  // namespace

const KernelFunctions kernel_quantize = {QuantizeKernel::Supports, MakeKernel<QuantizeKernel>};

}  // namespace plumb::cpu
