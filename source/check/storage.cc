#include "check/storage.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/threads.h"

namespace plumb {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr double kUnit = 0x1p-11, kMinNormal = 0x1p-14;
constexpr double kOverflow = 65520;  // halfway between the largest f16, 65504, and the next power of two

// f64 -> f32 first: the double rounding is far below the tolerance, and exact values (tau = 0) are f32 already.
double Half(double value) { return static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(value)))); }

}  // namespace

Result<Tensor> RoundedToHalf(const Tensor& tensor) {
  PLUMB_ASSIGN_OR_RETURN(Tensor rounded, tensor.Clone());
  const auto each = [&](auto* data) {
    ParallelFor(rounded.NumElements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data[i] = static_cast<std::decay_t<decltype(*data)>>(Half(static_cast<double>(data[i])));
    });
  };
  if (rounded.dtype() == DType::kF32) each(rounded.data<float>());
  if (rounded.dtype() == DType::kF64) each(rounded.data<double>());
  return rounded;
}

Status JudgeAsHalf(const Tensor& device, Tensor* reference, Tensor* tau) {
  if (device.dtype() != DType::kF32) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(*reference, reference->Clone());
  PLUMB_ASSIGN_OR_RETURN(*tau, tau->Clone());
  const float* x = device.data<float>();
  double *y = reference->data<double>(), *bound = tau->data<double>();
  ParallelFor(device.NumElements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double size = std::fabs(y[i]), slack = bound[i];
      if (slack == 0 || size - slack >= kOverflow) {
        y[i] = Half(y[i]);
        continue;
      }
      if (size + slack >= kOverflow && std::isinf(x[i]) && std::signbit(x[i]) == std::signbit(y[i])) {
        y[i] = static_cast<double>(x[i]);
        continue;
      }
      const double stored = 8 * kUnit * std::max(size, kMinNormal);
      bound[i] = std::sqrt(slack * slack + stored * stored);
    }
  });
  return Status::Ok();
}

}  // namespace plumb
