// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/stored_half.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/threads.h"

namespace plumb {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr double kEightSigma = 4.6188;  // 8 / sqrt(3): of half a unit, evenly distributed
struct Format {
  double unit, min_normal, overflow;  // overflow: halfway between the largest value and the next power of two
};

Format FormatOf(DType storage) {
  if (storage == DType::kF16) return {0x1p-11, 0x1p-14, 65520};
  return {0x1p-8, 0x1p-126, 0x1.FFp127};
}

// f64 -> f32 first: the double rounding is far below the tolerance, and exact values (tau = 0) are f32 already.
double AsStored(DType storage, double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(storage == DType::kF16 ? HalfToFloat(FloatToHalf(narrow))
                                                    : BFloat16ToFloat(FloatToBFloat16(narrow)));
}

}  // namespace

Result<Tensor> RoundedTo(DType storage, const Tensor& tensor) {
  PLUMB_ASSIGN_OR_RETURN(Tensor rounded, tensor.Clone());
  const auto each = [&](auto* data) {
    ParallelFor(rounded.NumElements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        data[i] = static_cast<std::decay_t<decltype(*data)>>(AsStored(storage, static_cast<double>(data[i])));
    });
  };
  if (rounded.dtype() == DType::kF32) each(rounded.data<float>());
  if (rounded.dtype() == DType::kF64) each(rounded.data<double>());
  return rounded;
}

Status JudgeAsStored(DType storage, const Tensor& device, Tensor* reference, Tensor* tau) {
  if (device.dtype() != DType::kF32) return Status::Ok();
  const Format format = FormatOf(storage);
  PLUMB_ASSIGN_OR_RETURN(*reference, reference->Clone());
  PLUMB_ASSIGN_OR_RETURN(*tau, tau->Clone());
  const float* x = device.data<float>();
  double *y = reference->data<double>(), *bound = tau->data<double>();
  ParallelFor(device.NumElements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double size = std::fabs(y[i]), slack = bound[i];
      if (slack == 0 || size - slack >= format.overflow) {
        y[i] = AsStored(storage, y[i]);
        continue;
      }
      if (size + slack >= format.overflow && std::isinf(x[i]) && std::signbit(x[i]) == std::signbit(y[i])) {
        y[i] = static_cast<double>(x[i]);
        continue;
      }
      const double stored = 8 * format.unit * std::max(size, format.min_normal);
      bound[i] = std::sqrt(slack * slack + stored * stored);
    }
  });
  return Status::Ok();
}

Status AddStorageNoise(DType storage, const Tensor& blob, Tensor* tau) {
  if (blob.dtype() != DType::kF64) return Status::Ok();
  const Format format = FormatOf(storage);
  for (int64_t i = 0; i < blob.NumElements(); ++i) {
    const double size = std::fabs(blob.data<double>()[i]);
    if (!std::isfinite(size)) continue;
    const double noise = kEightSigma * format.unit * std::max(size, format.min_normal);
    tau->data<double>()[i] = std::hypot(tau->data<double>()[i], noise);
  }
  return Status::Ok();
}

Result<Tensor> StorageNoise(DType storage, const Tensor& blob, bool before, bool rounded) {
  if (blob.dtype() != DType::kF64 || (!before && !rounded)) return Tensor();
  const Format format = FormatOf(storage);
  PLUMB_ASSIGN_OR_RETURN(Tensor tau, Tensor::Zeros(DType::kF64, blob.shape()));
  bool any = false;
  for (int64_t i = 0; i < blob.NumElements(); ++i) {
    const double x = blob.data<double>()[i];
    if (!std::isfinite(x) || !(AsStored(storage, x) == x ? before : rounded)) continue;
    tau.data<double>()[i] = kEightSigma * format.unit * std::max(std::fabs(x), format.min_normal);
    any = true;
  }
  return any ? tau : Tensor();
}

}  // namespace plumb
