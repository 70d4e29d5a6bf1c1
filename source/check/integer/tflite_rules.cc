// SPDX-License-Identifier: Apache-2.0
// What TFLite's reference kernels compute from integers, as published: real factors as 31 bits and a shift, rounded
// twice (gemmlowp) or once; and what LiteRT 2.3's optimised kernels and XNNPACK were seen to do on x86 with AVX-512.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/core/fixed_factor.h"

namespace plumb {
namespace {

// CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED.
template <Multiply kMultiply>
bool ProductInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.exact_scales.size() != step.scales.size()) return false;
  std::vector<FixedFactor> factors;
  const int64_t fewer = int64_t{1} << (31 - step.factor_bits);
  for (const double scale : step.exact_scales) {
    factors.push_back(FixedFactorOf(scale / static_cast<double>(step.scale)));
    factors.back().multiplier = factors.back().multiplier / fewer * fewer;
  }
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = step.sums.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(sum) <= kLargestSum)) return false;
    const FixedFactor& factor = factors[step.scale_index(static_cast<int64_t>(i))];
    if (!kMultiply(static_cast<int64_t>(sum), factor, &whole)) return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// Of channels by eights as ruy's kernels round, of the rest as the reference: DEPTHWISE_CONV_2D and TRANSPOSE_CONV.
bool ProductByEights(const IntegerStep& step, std::vector<int64_t>* integers) {
  std::vector<int64_t> rest(integers->size());
  if (!ProductInFixedPoint<RoundedUpTwice>(step, integers) || !ProductInFixedPoint<RoundedTwice>(step, &rest))
    return false;
  const size_t channels = step.scales.size(), whole = channels - channels % 8;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (step.scale_index(static_cast<int64_t>(i)) >= whole) (*integers)[i] = rest[i];
  }
  return true;
}

bool ProductOf16Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  return step.of_16_bits() && ProductInFixedPoint<RoundedByFifteenBits>(step, integers);
}

// FULLY_CONNECTED by the reference kernel, of 16 bits by any.
bool ProductInF64(const IntegerStep& step, std::vector<int64_t>* integers) {
  const bool matrix = step.product.kind == OpKind::kMatMul || step.product.kind == OpKind::kInnerProduct;
  if (!matrix || step.exact_scales.size() != step.scales.size()) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double factor =
        step.exact_scales[step.scale_index(static_cast<int64_t>(i))] / static_cast<double>(step.scale);
    const double steps = std::round(step.sums.data<double>()[i] * factor);
    if (!(std::fabs(steps) <= kLargestSum)) return false;
    (*integers)[i] = step.Limited(static_cast<int64_t>(steps));
  }
  return true;
}

// QUANTIZE from integers, RELU.
template <Multiply kMultiply>
bool RequantisedInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const FixedFactor factor = FixedFactorOf(static_cast<double>(x.scale) / static_cast<double>(step.scale));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double value = x.whole.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(value) <= static_cast<double>(kInt32Max)) ||
        !kMultiply(static_cast<int64_t>(value), factor, &whole))
      return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// CONCATENATION of u8, part by part: q scale + bias, where the grids differ.
bool JoinedInF32(const IntegerStep& step, std::vector<int64_t>* integers) {
  const float inverse = 1 / step.scale;
  const int64_t whole = step.shape.CountFrom(step.axis), outer = step.shape.Count(0, step.axis);
  int64_t offset = 0;
  for (const IntegerOperand& part : step.operands) {
    const float scale = part.scale * inverse, bias = static_cast<float>(-part.zero) * scale;
    const bool same = part.scale == step.scale && part.zero == step.zero;
    const int64_t run = part.whole.shape().CountFrom(step.axis);
    for (int64_t i = 0; i < outer * run; ++i) {
      const double value = part.whole.data<double>()[i];
      const float product = static_cast<float>(value + static_cast<double>(part.zero)) * scale;
      const float steps = same ? static_cast<float>(value) : std::round(product + bias);
      if (!(std::fabs(steps) < 0x1p31f)) return false;
      (*integers)[static_cast<size_t>(i / run * whole + offset + i % run)] = step.Limited(static_cast<int64_t>(steps));
    }
    offset += run;
  }
  return offset == whole;
}

// MUL: a factor of 31 bits, of f32's quotient of the scales.
template <Multiply kMultiply>
bool TimesInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const FixedFactor factor = FixedFactorOf(static_cast<double>(a.scale * b.scale / step.scale));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double product = a.whole.data<double>()[i] * b.whole.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(product) <= static_cast<double>(kInt32Max))) return false;
    if (!kMultiply(static_cast<int64_t>(product), factor, &whole)) return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// The upper 32 bits rounded, the bits that are shifted out cut off.
bool RoundedThenCut(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || factor.shift > 0 || std::abs(x) > kInt32Max) return false;
  *result = HighOfProduct(x, factor.multiplier) >> -factor.shift;
  return true;
}

// ADD, SUB: both operands 20 bits to the left (15 of 16-bit ones), in units of twice the larger scale, then the sum.
template <Multiply kMultiply>
bool SumInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const int left = step.left >= 0 ? step.left : step.of_16_bits() ? 15 : 20;
  const double twice = 2 * static_cast<double>(std::max(a.scale, b.scale));
  const FixedFactor of_a = FixedFactorOf(static_cast<double>(a.scale) / twice),
                    of_b = FixedFactorOf(static_cast<double>(b.scale) / twice),
                    of_sum = FixedFactorOf(twice / (std::ldexp(1.0, left) * static_cast<double>(step.scale)));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double x = std::ldexp(a.whole.data<double>()[i], left), y = std::ldexp(b.whole.data<double>()[i], left);
    int64_t first = 0, second = 0, sum = 0;
    if (!(std::fabs(x) <= static_cast<double>(kInt32Max) && std::fabs(y) <= static_cast<double>(kInt32Max)))
      return false;
    if (!kMultiply(static_cast<int64_t>(x), of_a, &first) || !kMultiply(static_cast<int64_t>(y), of_b, &second) ||
        !RoundedTwice(step.subtracts ? first - second : first + second, of_sum, &sum))
      return false;
    (*integers)[i] = step.Limited(sum);
  }
  return true;
}

bool SumOfU8(const IntegerStep& step, std::vector<int64_t>* integers) {
  return step.low >= 0 && step.high <= 255 && SumInFixedPoint<RoundedThenCut>(step, integers);
}

// AVERAGE_POOL_2D, which keeps scale and zero point: halves away from zero.
bool MeanOfIntegers(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  if (x.scale != step.scale || x.zero != step.zero) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const int64_t count = step.counts.empty() ? step.count : step.counts[i];
    const double sum = x.whole.data<double>()[i] + static_cast<double>(x.zero) * static_cast<double>(count);
    if (count < 1 || !(std::fabs(sum) <= static_cast<double>(kInt32Max))) return false;
    const auto all = static_cast<int64_t>(sum);
    const int64_t half = count / 2;
    (*integers)[i] = std::clamp((all > 0 ? all + half : all - half) / count, step.low, step.high);
  }
  return true;
}

// MEAN: the division by the count goes into the factor, which then has less than 31 bits.
bool MeanInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  FixedFactor factor = FixedFactorOf(static_cast<double>(x.scale) / static_cast<double>(step.scale));
  if (!factor.valid || step.count < 1 || step.count > kInt32Max) return false;
  const int more = std::min(std::ilogb(static_cast<double>(step.count)), 31 + factor.shift);
  factor.multiplier = factor.multiplier * (int64_t{1} << more) / step.count;
  factor.shift -= more;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = x.whole.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(sum) <= kLargestSum) || !RoundedTwice(static_cast<int64_t>(sum), factor, &whole)) return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// SUM by the reference kernel.
bool SumOfAxesInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const FixedFactor factor = FixedFactorOf(static_cast<double>(x.scale) / static_cast<double>(step.scale));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = x.whole.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(sum) <= kLargestSum) || !RoundedTwice(static_cast<int64_t>(sum), factor, &whole)) return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// SUM by the optimised kernel: the sum of what the file holds times an f32 scale, plus what the zero points make.
bool SumOfAxesInF32(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const float scale = x.scale / step.scale, bias = static_cast<float>(-x.zero) * scale * static_cast<float>(step.count);
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = x.whole.data<double>()[i] + static_cast<double>(x.zero) * static_cast<double>(step.count);
    const float product = static_cast<float>(sum) * scale;
    const float steps = std::round(product + bias);
    if (!(std::fabs(steps) < 0x1p31f)) return false;
    (*integers)[i] = step.Limited(static_cast<int64_t>(steps));
  }
  return true;
}

// SQUARED_DIFFERENCE: both operands 7 bits to the left, in units of twice the larger scale.
bool SquaredDifferenceInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  constexpr int kLeft = 7;
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const double twice = 2 * static_cast<double>(std::max(a.scale, b.scale));
  const FixedFactor of_a = FixedFactorOf(static_cast<double>(a.scale) / twice),
                    of_b = FixedFactorOf(static_cast<double>(b.scale) / twice),
                    of_square =
                        FixedFactorOf(twice * twice / (std::ldexp(1.0, 2 * kLeft) * static_cast<double>(step.scale)));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double x = std::ldexp(a.whole.data<double>()[i], kLeft), y = std::ldexp(b.whole.data<double>()[i], kLeft);
    int64_t first = 0, second = 0, whole = 0;
    if (!(std::fabs(x) < 0x1p30 && std::fabs(y) < 0x1p30)) return false;
    if (!RoundedTwice(static_cast<int64_t>(x), of_a, &first) || !RoundedTwice(static_cast<int64_t>(y), of_b, &second) ||
        std::abs(first - second) > 46340 || !RoundedTwice((first - second) * (first - second), of_square, &whole))
      return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

}  // namespace

std::vector<IntegerRule> TfliteRules() {
  return {
      {IntegerForm::kProduct, "TFLite's rule (a factor of 31 bits, rounded twice)", ProductInFixedPoint<RoundedTwice>},
      {IntegerForm::kProduct, "TFLite's optimised rule (a factor of 31 bits, rounded twice, halves up)",
       ProductInFixedPoint<RoundedUpTwice>},
      {IntegerForm::kProduct, "TFLite's optimised rule of channels by eights (halves up, of the rest away from zero)",
       ProductByEights},
      {IntegerForm::kProduct, "TFLite's rule of 16 bits (a factor of 15 bits, halves up)", ProductOf16Bits},
      {IntegerForm::kProduct, "TFLite's rule of one rounding (a factor of 31 bits, halves up)",
       ProductInFixedPoint<RoundedOnce>},
      {IntegerForm::kProduct, "TFLite's rule in f64 (the sum times an f64 scale, halves away from zero)", ProductInF64,
       true},
      {IntegerForm::kRequantise, "TFLite's rule for requantisation (a factor of 31 bits, rounded twice)",
       RequantisedInFixedPoint<RoundedTwice>, true},
      {IntegerForm::kRequantise, "TFLite's optimised rule for requantisation (31 bits, rounded twice, halves up)",
       RequantisedInFixedPoint<RoundedUpTwice>, true},
      {IntegerForm::kJoin, "TFLite's rule for CONCATENATION (f32 scales, halves away from zero)", JoinedInF32, true},
      {IntegerForm::kSum, "TFLite's rule for sums (20 bits to the left, rounded twice)", SumInFixedPoint<RoundedTwice>},
      {IntegerForm::kSum, "TFLite's optimised rule for sums (operands rounded once, the sum twice)",
       SumInFixedPoint<RoundedOnce>, true},
      {IntegerForm::kSum,
       "TFLite's optimised rule for sums of u8 (operands rounded, then cut off, the sum rounded twice)", SumOfU8, true},
      {IntegerForm::kTimes, "TFLite's rule for products (a factor of 31 bits, rounded twice)",
       TimesInFixedPoint<RoundedTwice>},
      {IntegerForm::kTimes, "TFLite's rule for products of one rounding (a factor of 31 bits, halves up)",
       TimesInFixedPoint<RoundedOnce>},
      {IntegerForm::kMean, "TFLite's rule for average pools (an exact sum, halves away from zero)", MeanOfIntegers},
      {IntegerForm::kWindowMean, "TFLite's rule for average pools (an exact sum, halves away from zero)",
       MeanOfIntegers},
      {IntegerForm::kReduceMean, "TFLite's rule for means (the count in a factor of 31 bits, rounded twice)",
       MeanInFixedPoint},
      {IntegerForm::kReduceSum, "TFLite's rule for SUM (a factor of 31 bits, rounded twice)", SumOfAxesInFixedPoint},
      {IntegerForm::kReduceSum, "TFLite's optimised rule for SUM (an f32 scale, halves away from zero)",
       SumOfAxesInF32},
      {IntegerForm::kSquaredDifference, "TFLite's rule for SQUARED_DIFFERENCE (7 bits to the left, each rounded twice)",
       SquaredDifferenceInFixedPoint},
  };
}

}  // namespace plumb
