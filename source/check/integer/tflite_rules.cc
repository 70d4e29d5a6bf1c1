// SPDX-License-Identifier: Apache-2.0
// What TFLite's reference kernels compute from integers, as published: real factors as 31 bits and a shift, rounded
// twice (gemmlowp) or once; and what LiteRT 2.3's optimised kernels and XNNPACK were seen to do on x86 with AVX-512.
#include <algorithm>
#include <cmath>

#include "check/integer/fixed_factor.h"
#include "check/integer/integer_rules.h"

namespace plumb {
namespace {

// CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED.
template <Multiply kMultiply>
bool ProductInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.exact_scales.size() != step.scales.size()) return false;
  std::vector<FixedFactor> factors;
  for (const double scale : step.exact_scales)
    factors.push_back(FixedFactorOf(scale / static_cast<double>(step.scale)));
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

bool ProductOf16Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  return step.high - step.low > 255 && ProductInFixedPoint<RoundedByFifteenBits>(step, integers);
}

// MUL.
template <Multiply kMultiply>
bool TimesInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const FixedFactor factor =
      FixedFactorOf(static_cast<double>(a.scale) * static_cast<double>(b.scale) / static_cast<double>(step.scale));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double product = a.whole.data<double>()[i] * b.whole.data<double>()[i];
    int64_t whole = 0;
    if (!(std::fabs(product) <= static_cast<double>(kInt32Max))) return false;
    if (!kMultiply(static_cast<int64_t>(product), factor, &whole)) return false;
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// ADD, SUB: both operands 20 bits to the left (15 of 16-bit ones), in units of twice the larger scale, then the sum.
bool SumInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const int left = step.high - step.low > 255 ? 15 : 20;
  const double twice = 2 * static_cast<double>(std::max(a.scale, b.scale));
  const FixedFactor of_a = FixedFactorOf(static_cast<double>(a.scale) / twice),
                    of_b = FixedFactorOf(static_cast<double>(b.scale) / twice),
                    of_sum = FixedFactorOf(twice / (std::ldexp(1.0, left) * static_cast<double>(step.scale)));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double x = std::ldexp(a.whole.data<double>()[i], left), y = std::ldexp(b.whole.data<double>()[i], left);
    int64_t first = 0, second = 0, sum = 0;
    if (!(std::fabs(x) <= static_cast<double>(kInt32Max) && std::fabs(y) <= static_cast<double>(kInt32Max)))
      return false;
    if (!RoundedTwice(static_cast<int64_t>(x), of_a, &first) || !RoundedTwice(static_cast<int64_t>(y), of_b, &second) ||
        !RoundedTwice(step.subtracts ? first - second : first + second, of_sum, &sum))
      return false;
    (*integers)[i] = step.Limited(sum);
  }
  return true;
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

// SOFTMAX of 8 bits: a table of exp, an f32 sum in order, times 1 / (sum * scale); unsigned ones round halves up.
bool SoftmaxByExp(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const int64_t terms = step.shape[step.axis], inner = step.shape.CountFrom(step.axis + 1);
  if (terms < 1 || step.high - step.low != 255 || (step.low == 0 && step.zero != 0)) return false;
  float table[256];  // by how far an integer lies below the row's largest
  for (int i = 0; i < 256; ++i) table[i] = std::exp(-x.scale * static_cast<float>(i));
  const double* whole = x.whole.data<double>();
  for (int64_t row = 0; row < static_cast<int64_t>(integers->size()) / terms; ++row) {
    const int64_t first = row / inner * inner * terms + row % inner;
    double most = whole[first];
    for (int64_t t = 0; t < terms; ++t) most = std::max(most, whole[first + t * inner]);
    float sum = 0;
    for (int64_t t = 0; t < terms; ++t) {
      const double below = most - whole[first + t * inner];
      if (!(below <= 255)) return false;
      sum += table[static_cast<int>(below)];
    }
    const float inverse = 1.0f / (sum * step.scale);
    for (int64_t t = 0; t < terms; ++t) {
      const float share = table[static_cast<int>(most - whole[first + t * inner])] * inverse;
      if (!(share >= 0 && share < 0x1p30f)) return false;
      const float rounded = step.low == 0 ? std::floor(share + 0.5f) : std::nearbyint(share);
      (*integers)[static_cast<size_t>(first + t * inner)] = step.Limited(static_cast<int64_t>(rounded));
    }
  }
  return true;
}

// A function from [low, high] to integers of 2^-15, in 512 pieces between which lies a straight line.
class TableOf16Bits {
 public:
  TableOf16Bits(double low, double high, double (*function)(double)) {
    const double step = (high - low) / 512;
    const auto whole = [&](double x) { return std::round(function(x) * kOne); };
    for (int i = 0; i <= 512; ++i) {
      const double x = low + i * step, value = whole(x);
      const double between = std::round((function(x + step) * kOne + value) / 2);
      // Half of what the line is off by in the middle of the piece.
      const double bias = i == 512 ? 0 : std::round((between - whole(x + step / 2)) / 2);
      table_[i] = static_cast<int64_t>(std::clamp(value - bias, -32768.0, 32767.0));
    }
  }
  int64_t Of(int64_t x) const {
    const int64_t at = std::clamp<int64_t>(x, -32768, 32767), piece = 256 + (at >> 7);
    return table_[piece] + (((table_[piece + 1] - table_[piece]) * (at & 127) + 64) >> 7);
  }

 private:
  static constexpr double kOne = 32768;
  int64_t table_[513];
};

// SOFTMAX of 16 bits: exp of [-10, 0] and 1 / (1 + x) of [0, 1] by tables.
bool SoftmaxOf16Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const int64_t terms = step.shape[step.axis], inner = step.shape.CountFrom(step.axis + 1);
  constexpr int64_t kMostTerms = 65535;  // whose exps of 15 bits have a sum of 31
  if (terms < 1 || terms > kMostTerms || step.high - step.low != 65535 || step.zero != 0) return false;
  const FixedFactor factor = FixedFactorOf(static_cast<double>(x.scale) / (10.0 / 65535.0));
  static const TableOf16Bits exp(-10, 0, [](double v) { return std::exp(v); });
  static const TableOf16Bits inverse(0, 1, [](double v) { return 1 / (1 + v); });
  const double* whole = x.whole.data<double>();
  std::vector<int64_t> exps(static_cast<size_t>(terms));
  for (int64_t row = 0; row < static_cast<int64_t>(integers->size()) / terms; ++row) {
    const int64_t first = row / inner * inner * terms + row % inner;
    double most = whole[first];
    for (int64_t t = 0; t < terms; ++t) most = std::max(most, whole[first + t * inner]);
    int64_t sum = 0;
    for (int64_t t = 0; t < terms; ++t) {
      const double below = most - whole[first + t * inner];
      int64_t scaled = 0;
      if (!(below <= 65535) || !RoundedTwice(-static_cast<int64_t>(below), factor, &scaled)) return false;
      exps[static_cast<size_t>(t)] = exp.Of(scaled + 32767);
      sum += exps[static_cast<size_t>(t)];
    }
    if (sum < 2) return false;
    const int bits = std::ilogb(static_cast<double>(sum)) + 1;  // 2 to 31
    const int64_t mantissa = (sum * (int64_t{1} << (31 - bits)) + (1 << 13)) >> 14;
    const int64_t reciprocal = inverse.Of(mantissa - (1 << 15) - (1 << 16));
    for (int64_t t = 0; t < terms; ++t) {
      const int64_t share = (exps[static_cast<size_t>(t)] * reciprocal + (int64_t{1} << (bits - 2))) >> (bits - 1);
      (*integers)[static_cast<size_t>(first + t * inner)] = std::clamp<int64_t>(share, 0, 32767);
    }
  }
  return true;
}

}  // namespace

std::vector<IntegerRule> TfliteRules() {
  return {
      {IntegerForm::kProduct, "TFLite's rule (a factor of 31 bits, rounded twice)", ProductInFixedPoint<RoundedTwice>},
      {IntegerForm::kProduct, "TFLite's optimised rule (a factor of 31 bits, rounded twice, halves up)",
       ProductInFixedPoint<RoundedUpTwice>},
      {IntegerForm::kProduct, "TFLite's rule of 16 bits (a factor of 15 bits, halves up)", ProductOf16Bits},
      {IntegerForm::kProduct, "TFLite's rule of one rounding (a factor of 31 bits, halves up)",
       ProductInFixedPoint<RoundedOnce>},
      {IntegerForm::kSum, "TFLite's rule for sums (20 bits to the left, rounded twice)", SumInFixedPoint},
      {IntegerForm::kTimes, "TFLite's rule for products (a factor of 31 bits, rounded twice)",
       TimesInFixedPoint<RoundedTwice>},
      {IntegerForm::kTimes, "TFLite's rule for products of one rounding (a factor of 31 bits, halves up)",
       TimesInFixedPoint<RoundedOnce>},
      {IntegerForm::kMean, "TFLite's rule for average pools (an exact sum, halves away from zero)", MeanOfIntegers},
      {IntegerForm::kWindowMean, "TFLite's rule for average pools (an exact sum, halves away from zero)",
       MeanOfIntegers},
      {IntegerForm::kReduceMean, "TFLite's rule for means (the count in a factor of 31 bits, rounded twice)",
       MeanInFixedPoint},
      {IntegerForm::kSoftmax, "TFLite's rule for softmax (a table of exp, an f32 sum, times 1 / (sum * scale))",
       SoftmaxByExp},
      {IntegerForm::kSoftmax, "TFLite's rule for softmax of 16 bits (tables of exp and of 1 / (1 + x))",
       SoftmaxOf16Bits},
  };
}

}  // namespace plumb
