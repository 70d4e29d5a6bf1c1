// SPDX-License-Identifier: Apache-2.0
// What TFLite's reference kernels compute from integers, as published: real factors as 31 bits and a shift, rounded
// twice (gemmlowp) or once; and what LiteRT 2.3's optimised kernels and XNNPACK were seen to do on x86 with AVX-512.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"

namespace plumb {
namespace {

constexpr int64_t kInt32Max = 2147483647;
constexpr double kLargestSum = 0x1p52;  // that f64 holds exactly

// A real factor: multiplier * 2^(shift - 31).
struct FixedFactor {
  int64_t multiplier = 0;
  int shift = 0;
  bool valid = false;
};

FixedFactor FixedFactorOf(double real) {
  FixedFactor factor;
  if (!(real > 0 && real < 0x1p30)) return factor;
  factor.valid = true;
  const double fraction = std::frexp(real, &factor.shift);
  factor.multiplier = static_cast<int64_t>(std::round(fraction * 0x1p31));
  if (factor.multiplier == int64_t{1} << 31) factor.multiplier /= 2, ++factor.shift;
  if (factor.shift < -31) factor.multiplier = 0, factor.shift = 0;
  return factor;
}

// The upper 32 bits of twice the product, halves up.
int64_t HighOfProduct(int64_t a, int64_t b) {
  const int64_t product = a * b, nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return (product + nudge) / (int64_t{1} << 31);
}

// x / 2^by, halves away from zero.
int64_t ShiftedRight(int64_t x, int by) {
  const int64_t mask = (int64_t{1} << by) - 1, rest = x & mask, most = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> by) + (rest > most ? 1 : 0);
}

// False: beyond 32 bits.
using Multiply = bool (*)(int64_t x, const FixedFactor& factor, int64_t* result);

bool RoundedTwice(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || std::abs(x) > kInt32Max) return false;
  const int left = std::max(0, factor.shift), right = std::max(0, -factor.shift);
  const int64_t shifted = x * (int64_t{1} << left);  // at most 31 + 30 bits
  if (std::abs(shifted) > kInt32Max) return false;
  *result = ShiftedRight(HighOfProduct(shifted, factor.multiplier), right);
  return true;
}

// Both times halves up, as ruy's kernels do it.
bool RoundedUpTwice(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || std::abs(x) > kInt32Max) return false;
  const int left = std::max(0, factor.shift), right = std::max(0, -factor.shift);
  const int64_t shifted = x * (int64_t{1} << left);  // at most 31 + 30 bits
  if (std::abs(shifted) > kInt32Max) return false;
  const int64_t high = (shifted * factor.multiplier + (int64_t{1} << 30)) >> 31;
  *result = right == 0 ? high : (high + (int64_t{1} << (right - 1))) >> right;
  return true;
}

// Of sums of 48 bits: a factor of 15 bits, halves up.
bool RoundedByFifteenBits(int64_t x, const FixedFactor& factor, int64_t* result) {
  constexpr int64_t kLargest = int64_t{1} << 47;
  const int shift = 15 - factor.shift;
  if (!factor.valid || std::abs(x) >= kLargest || shift < 1 || shift > 62) return false;
  const int64_t reduced = factor.multiplier < 0x7FFF0000 ? (factor.multiplier + (1 << 15)) >> 16 : 0x7FFF;
  *result = (x * reduced + (int64_t{1} << (shift - 1))) >> shift;
  return std::abs(*result) <= kInt32Max;
}

bool RoundedOnce(int64_t x, const FixedFactor& factor, int64_t* result) {
  if (!factor.valid || std::abs(x) > kInt32Max) return false;
  const int shift = 31 - factor.shift;  // 1 to 62
  const int64_t product = x * factor.multiplier, half = int64_t{1} << (shift - 1);
  if (product > INT64_MAX - half) return false;
  *result = (product + half) >> shift;
  return std::abs(*result) <= kInt32Max;
}

int64_t Limited(const IntegerStep& step, int64_t whole) { return std::clamp(whole + step.zero, step.low, step.high); }

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
    (*integers)[i] = Limited(step, whole);
  }
  return true;
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
    (*integers)[i] = Limited(step, whole);
  }
  return true;
}

// ADD: both operands 20 bits to the left (15 of 16-bit ones), in units of twice the larger scale, then the sum.
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
        !RoundedTwice(first + second, of_sum, &sum))
      return false;
    (*integers)[i] = Limited(step, sum);
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
    (*integers)[i] = Limited(step, whole);
  }
  return true;
}

// MEAN by XNNPACK: the sum times in / (out * count).
bool MeanInF32(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  if (step.count < 1) return false;
  const float factor = x.scale / (step.scale * static_cast<float>(step.count));
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
      (*integers)[static_cast<size_t>(first + t * inner)] = Limited(step, static_cast<int64_t>(rounded));
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
      {IntegerForm::kProduct, "TFLite's rule of 16 bits (a factor of 15 bits, halves up)",
       ProductInFixedPoint<RoundedByFifteenBits>},
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
      {IntegerForm::kReduceMean, "TFLite's rule for means by XNNPACK (an exact sum times an f32 scale, half to even)",
       MeanInF32},
      {IntegerForm::kSoftmax, "TFLite's rule for softmax (a table of exp, an f32 sum, times 1 / (sum * scale))",
       SoftmaxByExp},
      {IntegerForm::kSoftmax, "TFLite's rule for softmax of 16 bits (tables of exp and of 1 / (1 + x))",
       SoftmaxOf16Bits},
  };
}

}  // namespace plumb
