// SPDX-License-Identifier: Apache-2.0
// What XNNPACK's 8-bit kernels compute from integers, as LiteRT 2.3 was seen to run them on x86 with AVX-512: sums
// times an f32 scale, rounded to an even half; sums of two tensors by factors of 21 bits.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/activation.h"
#include "op/core/fixed_factor.h"

namespace plumb {
namespace {

// Both ratios as integers of 21 bits, the sum shifted right, halves up; of ratios in [2^-10, 2^8).
bool XnnpackSum(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const float of_a = a.scale / step.scale, of_b = b.scale / step.scale, larger = std::max(of_a, of_b);
  if (!(larger >= 0x1p-10f && larger < 0x1p8f) || step.high - step.low != 255) return false;
  const int shift = 20 - std::ilogb(larger);
  const auto first = static_cast<double>(std::nearbyint(std::ldexp(of_a, shift)));
  const auto second = static_cast<double>(std::nearbyint(std::ldexp(of_b, shift))) * (step.subtracts ? -1 : 1);
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = a.whole.data<double>()[i] * first + b.whole.data<double>()[i] * second;
    if (!(std::fabs(sum) <= static_cast<double>(kInt32Max))) return false;
    const int64_t rounded = (static_cast<int64_t>(sum) + (int64_t{1} << (shift - 1))) >> shift;
    (*integers)[i] = step.Limited(rounded);
  }
  return true;
}

// The product times f32(f32(a_scale * b_scale) / y_scale).
bool XnnpackTimes(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const float ratio = a.scale * b.scale / step.scale;
  for (size_t i = 0; i < integers->size(); ++i) {
    const auto product = static_cast<float>(a.whole.data<double>()[i] * b.whole.data<double>()[i]);
    int64_t whole = 0;
    if (!RoundedToRange(step, product * ratio, &whole)) return false;
    (*integers)[i] = whole + step.zero;
  }
  return true;
}

// MEAN: the sum times f32(f32(in / out) / count); SUM: times in / out.
bool MeanInF32(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  if (step.count < 1) return false;
  const float count = step.form == IntegerForm::kReduceMean ? static_cast<float>(step.count) : 1;
  const float factor = x.scale / step.scale / count;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = x.whole.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(sum) <= static_cast<double>(kInt32Max)) ||
        !RoundedToRange(step, static_cast<float>(sum) * factor, &whole))
      return false;
    (*integers)[i] = whole + step.zero;
  }
  return true;
}

// SUM of u8: the zero point is added in front of the rounding.
bool SumBehindZero(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const float factor = x.scale / step.scale, zero = static_cast<float>(step.zero);
  if (step.low < 0) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = x.whole.data<double>()[i];
    const float steps = std::nearbyint(static_cast<float>(sum) * factor + zero);
    if (!(std::fabs(sum) <= static_cast<double>(kInt32Max) && std::fabs(steps) < 0x1p30f)) return false;
    (*integers)[i] = std::clamp(static_cast<int64_t>(steps), step.low, step.high);
  }
  return true;
}

// LEAKY_RELU: both ratios as integers of 2^-8, halves up.
bool XnnpackLeakyRelu(const IntegerStep& step, std::vector<int64_t>* integers) {
  float slope = 0;
  if (!LeakySlopeOf(step, &slope)) return false;
  const IntegerOperand& x = step.operands[0];
  const float ratio = x.scale / step.scale, below_zero = ratio * slope;
  if (!(std::fabs(ratio) < 0x1p20f && std::fabs(below_zero) < 0x1p20f)) return false;
  const auto above = static_cast<int64_t>(std::nearbyint(256 * ratio));
  const auto below = static_cast<int64_t>(std::nearbyint(256 * below_zero));
  for (size_t i = 0; i < integers->size(); ++i) {
    const auto whole = static_cast<int64_t>(x.whole.data<double>()[i]);
    const int64_t rounded = (whole * (whole >= 0 ? above : below) + 128) >> 8;
    (*integers)[i] = step.Limited(rounded);
  }
  return true;
}

// Between grids: the ratio as an integer of 2^-8, halves up.
bool XnnpackConvert(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const float ratio = x.scale / step.scale;
  if (!(ratio < 0x1p20f) || step.high - step.low != 255) return false;
  const auto factor = static_cast<int64_t>(std::nearbyint(256 * ratio));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double value = x.whole.data<double>()[i];
    if (!(std::fabs(value) <= 65535)) return false;
    (*integers)[i] = step.Limited((static_cast<int64_t>(value) * factor + 128) >> 8);
  }
  return true;
}

}  // namespace

std::vector<IntegerRule> XnnpackRules() {
  return {
      {IntegerForm::kProduct, "XNNPACK's rule (the sum times an f32 scale, round half to even)", RequantisedInF32},
      {IntegerForm::kSum, "XNNPACK's rule for sums (factors of 21 bits, halves up)", XnnpackSum},
      {IntegerForm::kTimes, "XNNPACK's rule for products (f32 scale, round half to even)", XnnpackTimes},
      {IntegerForm::kReduceMean, "XNNPACK's rule for means (an exact sum times an f32 scale, half to even)", MeanInF32},
      {IntegerForm::kReduceSum, "XNNPACK's rule for SUM (an exact sum times an f32 scale, half to even)", MeanInF32},
      {IntegerForm::kReduceSum,
       "XNNPACK's rule for SUM of u8 (the sum times an f32 scale and the zero point, half to even)", SumBehindZero,
       true},
      {IntegerForm::kElement, "XNNPACK's rule for sigmoid and tanh (a table of the f32 function, half to even)",
       XnnpackTable},
      {IntegerForm::kRequantise, "XNNPACK's rule for requantisation (a factor of 8 bits, halves up)", XnnpackConvert,
       true},
      {IntegerForm::kElement, "XNNPACK's rule for leaky ReLU (factors of 8 bits, halves up)", XnnpackLeakyRelu},
  };
}

}  // namespace plumb
