// SPDX-License-Identifier: Apache-2.0
// PlumbRoundFloat in plain order. Adding and taking away 1.5 * 2^23 steps rounds a float to whole steps, ties to even;
// the step follows from the float's own exponent bits.
#include "op/round_float.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kRoundGrain = 16384;

float PowerOfTwo(int exponent) {
  const auto bits = static_cast<uint32_t>(exponent + 127) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

float RoundedFloat(const SmallFloat& format, float x, float beyond) {
  if (std::isnan(x)) return format.has_nan ? x : 0;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const int exponent = static_cast<int>((bits >> 23) & 255) - 127;
  const auto largest = static_cast<float>(format.largest);
  float y = x;
  if (std::fabs(x) <= 2 * largest) {
    const float magic = 1.5f * PowerOfTwo(std::max(exponent, 1 - format.bias) - format.mantissa + 23);
    y = std::copysign((std::fabs(x) + magic) - magic, x);
  }
  if (std::fabs(y) > largest) return std::copysign(beyond, y);
  return y == 0 && format.unsigned_zero ? 0 : y;
}

class RoundFloatKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    if (spec.inputs[0].dtype == DType::kF32) return Status::Ok();
    return Status::NotSupported(std::string("takes f32, found ") + DTypeName(spec.inputs[0].dtype));
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(format_, RoundFloatFormat(spec.layer()));
    const bool saturate = ParamOf<RoundFloatParam>(spec.layer()).saturate || !format_->has_nan;
    beyond_ = saturate                ? static_cast<float>(format_->largest)
              : format_->has_infinity ? std::numeric_limits<float>::infinity()
                                      : std::numeric_limits<float>::quiet_NaN();
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const float* x = inputs[0].host<float>();
    float* y = outputs[0].host<float>();
    ParallelFor(inputs[0].shape.NumElements(), kRoundGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = RoundedFloat(*format_, x[i], beyond_);
    });
    return Status::Ok();
  }

 private:
  const SmallFloat* format_ = nullptr;
  float beyond_ = 0;
};

}  // namespace

const KernelFunctions kernel_round_float = {RoundFloatKernel::Supports, MakeKernel<RoundFloatKernel>};

}  // namespace plumb::cpu
