// SPDX-License-Identifier: Apache-2.0
// SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION of TFLite: the optimised kernels' tables of exp and f32 sums, the reference
// kernels' fixed point, and the tables of 16 bits.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/core/gemmlowp.h"
#include "op/core/short_fixed.h"

namespace plumb {
namespace {

// Calls f with the index of each row's first element and the elements' distance; false where f is.
template <class F>
bool EachRow(const IntegerStep& step, F f) {
  const int64_t terms = step.shape[step.axis], inner = step.shape.CountFrom(step.axis + 1);
  if (terms < 1) return false;
  for (int64_t row = 0; row < step.shape.NumElements() / terms; ++row) {
    if (!f(row / inner * inner * terms + row % inner, inner)) return false;
  }
  return true;
}

constexpr double kSpanOf8Bits = 255, kSpanOf16Bits = 65535;

// How far each element of a row lies below its largest, negative or 0; false: further than `span`.
bool BelowLargest(const IntegerStep& step, int64_t first, int64_t inner, double span, std::vector<int64_t>* below,
                  double* most) {
  const double* whole = step.operands[0].whole.data<double>() + first;
  const auto terms = static_cast<int64_t>(below->size());
  *most = whole[0];
  for (int64_t t = 0; t < terms; ++t) *most = std::max(*most, whole[t * inner]);
  for (int64_t t = 0; t < terms; ++t) {
    const double distance = whole[t * inner] - *most;
    if (!(distance >= -span)) return false;
    (*below)[static_cast<size_t>(t)] = static_cast<int64_t>(distance);
  }
  return true;
}

// exp of an f32 scale times what lies so many steps below a row's largest.
struct FloatExps {
  explicit FloatExps(float scale) {
    for (int i = 0; i < 256; ++i) table[i] = std::exp(-scale * static_cast<float>(i));
  }
  // In order, of a row.
  float Sum(const std::vector<int64_t>& below) const {
    float sum = 0;
    for (const int64_t b : below) sum += table[-b];
    return sum;
  }

  float table[256];
};

// SOFTMAX of 8 bits: a table of exp, an f32 sum in order, times 1 / (sum * scale); unsigned ones round halves up.
bool SoftmaxByExp(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.of_16_bits() || (step.low == 0 && step.zero != 0)) return false;
  const FloatExps exps(step.operands[0].scale * step.beta);
  std::vector<int64_t> below(static_cast<size_t>(step.shape[step.axis]));
  return EachRow(step, [&](int64_t first, int64_t inner) {
    double most = 0;
    if (!BelowLargest(step, first, inner, kSpanOf8Bits, &below, &most)) return false;
    const float inverse = 1.0f / (exps.Sum(below) * step.scale);
    for (const int64_t b : below) {
      const float share = exps.table[-b] * inverse;
      if (!(share >= 0 && share < 0x1p30f)) return false;
      const float rounded = step.low == 0 ? std::floor(share + 0.5f) : std::nearbyint(share);
      (*integers)[static_cast<size_t>(first)] = step.Limited(static_cast<int64_t>(rounded));
      first += inner;
    }
    return true;
  });
}

// SOFTMAX of 16 bits: exp of [-10, 0] and 1 / (1 + x) of [0, 1] by tables.
bool SoftmaxOf16Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const int64_t terms = step.shape[step.axis];
  constexpr int64_t kMostTerms = 65535;  // whose exps of 15 bits have a sum of 31
  if (terms < 1 || terms > kMostTerms || step.high - step.low != 65535 || step.zero != 0) return false;
  const FixedFactor factor =
      FixedFactorOf(static_cast<double>(step.beta) * static_cast<double>(x.scale) / (10.0 / 65535.0));
  static const ShortTable exp(-10, 0, [](double v) { return std::exp(v); });
  static const ShortTable inverse(0, 1, [](double v) { return 1 / (1 + v); });
  std::vector<int64_t> below(static_cast<size_t>(terms)), exps(static_cast<size_t>(terms));
  return EachRow(step, [&](int64_t first, int64_t inner) {
    double most = 0;
    int64_t sum = 0;
    if (!BelowLargest(step, first, inner, kSpanOf16Bits, &below, &most)) return false;
    for (size_t t = 0; t < below.size(); ++t) {
      int64_t scaled = 0;
      if (!RoundedTwice(below[t], factor, &scaled)) return false;
      exps[t] = exp.Of(scaled + 32767, step.lines, step.entry);
      sum += exps[t];
    }
    if (sum < 2) return false;
    const int bits = std::ilogb(static_cast<double>(sum)) + 1;  // 2 to 31
    const int64_t mantissa = (sum * (int64_t{1} << (31 - bits)) + (1 << 13)) >> 14;
    const int64_t reciprocal = inverse.Of(mantissa - (1 << 15) - (1 << 16), step.lines, 0);
    const int64_t half = step.halves ? int64_t{1} << (bits - 2) : 0;
    for (const int64_t e : exps) {
      (*integers)[static_cast<size_t>(first)] = std::clamp<int64_t>((e * reciprocal + half) >> (bits - 1), 0, 32767);
      first += inner;
    }
    return true;
  });
}

// exp of a row's elements by gemmlowp: how far they lie below the largest, with 5 bits in front of the point.
class FixedExps {
 public:
  FixedExps(double scale, double beta) : factor_(FixedFactorOf(beta * scale * 0x1p26)) {
    valid = factor_.valid && factor_.shift >= 0;
    if (valid) least = -static_cast<int64_t>(std::floor(31.0 * 0x1p26 / std::ldexp(1.0, factor_.shift)));
  }
  int64_t Scaled(int64_t below) const {
    return HighOfProduct(below * (int64_t{1} << factor_.shift), factor_.multiplier);
  }
  // The sum with 12 bits in front of the point; false: it has more.
  bool Sum(const std::vector<int64_t>& below, int64_t* sum) const {
    *sum = 0;
    for (const int64_t b : below) *sum += b >= least ? ShiftedRight(ExpBelowZero(Scaled(b)), 12) : 0;
    return *sum <= kInt32Max;
  }

  bool valid = false;
  int64_t least = 0;  // below which exp is none

 private:
  FixedFactor factor_;
};

// SOFTMAX by the reference kernel.
bool SoftmaxInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const FixedExps exps(static_cast<double>(step.operands[0].scale), static_cast<double>(step.beta));
  if (!exps.valid || step.high - step.low != 255 || step.zero != step.low || step.scale != 1.0f / 256) return false;
  std::vector<int64_t> below(static_cast<size_t>(step.shape[step.axis]));
  return EachRow(step, [&](int64_t first, int64_t inner) {
    double most = 0;
    int64_t sum = 0;
    if (!BelowLargest(step, first, inner, kSpanOf8Bits, &below, &most) || !exps.Sum(below, &sum)) return false;
    const FixedReciprocal inverse = FixedReciprocalOf(sum, 12);
    for (const int64_t b : below) {
      int64_t share = 0;
      if (b >= exps.least)
        share = ShiftedRight(HighOfProduct(inverse.fraction, ExpBelowZero(exps.Scaled(b))), inverse.bits + 31 - 8);
      (*integers)[static_cast<size_t>(first)] = step.Limited(share);
      first += inner;
    }
    return true;
  });
}

// LOG_SOFTMAX by the reference kernel: its result has 4 bits in front of the point.
bool LogSoftmaxInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const auto scale = static_cast<double>(step.operands[0].scale);
  const FixedExps exps(scale, 1);
  const FixedFactor back = FixedFactorOf(1 / (scale * 0x1p26));
  if (!exps.valid || !back.valid || back.shift > 0 || step.high - step.low != 255 || step.zero != step.high ||
      step.scale != 1.0f / 16)
    return false;
  std::vector<int64_t> below(static_cast<size_t>(step.shape[step.axis]));
  return EachRow(step, [&](int64_t first, int64_t inner) {
    double most = 0;
    int64_t sum = 0;
    if (!BelowLargest(step, first, inner, kSpanOf8Bits, &below, &most) || !exps.Sum(below, &sum)) return false;
    const int64_t log = FixedLogOf(sum), lowest = HighOfProduct(log - kInt32Max - 1, back.multiplier);
    const int64_t least = std::max(exps.least - 1, ShiftedRight(lowest, -back.shift));
    for (const int64_t b : below) {
      const int64_t steps = b > least ? ShiftedRight(exps.Scaled(b) - log, 31 - 5 - 4) : step.low - step.high;
      (*integers)[static_cast<size_t>(first)] = step.Limited(steps);
      first += inner;
    }
    return true;
  });
}

// LOG_SOFTMAX by the optimised kernel: a table of exp, an f32 sum in order, its f32 logarithm.
bool LogSoftmaxByTable(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  if (step.high - step.low != 255) return false;
  const FloatExps exps(x.scale);
  std::vector<int64_t> below(static_cast<size_t>(step.shape[step.axis]));
  return EachRow(step, [&](int64_t first, int64_t inner) {
    double most = 0;
    if (!BelowLargest(step, first, inner, kSpanOf8Bits, &below, &most)) return false;
    const float sum = exps.Sum(below);
    const auto largest = static_cast<float>(most + static_cast<double>(x.zero));
    const float scale = x.scale / step.scale, of_largest = x.scale * largest;
    const float precomputed = (of_largest + std::log(sum)) / step.scale;
    for (const int64_t b : below) {
      const float scaled = scale * (largest + static_cast<float>(b));
      const float steps = std::nearbyint(scaled - precomputed);
      if (!(std::fabs(steps) < 0x1p30f)) return false;
      (*integers)[static_cast<size_t>(first)] = step.Limited(static_cast<int64_t>(steps));
      first += inner;
    }
    return true;
  });
}

// L2_NORMALIZATION: gemmlowp's root of the sum of squares; results of 2^-7.
bool NormInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const double* whole = step.operands[0].whole.data<double>();
  if (step.high - step.low != 255 || step.scale != 1.0f / 128 || step.zero != (step.low == 0 ? 128 : 0)) return false;
  const int64_t terms = step.shape[step.axis];
  return EachRow(step, [&](int64_t first, int64_t inner) {
    double sum = 0;
    for (int64_t t = 0; t < terms; ++t) sum += whole[first + t * inner] * whole[first + t * inner];
    if (!(sum <= static_cast<double>(kInt32Max))) return false;
    FixedFactor factor = InverseRootOf(static_cast<int64_t>(sum));
    if (step.low < 0) factor.shift += 7;  // of u8 the number itself is moved
    for (int64_t t = 0; t < terms; ++t) {
      const auto at = static_cast<size_t>(first + t * inner);
      int64_t steps = 0;
      if (!RoundedTwice(static_cast<int64_t>(whole[at]) * (step.low < 0 ? 1 : 128), factor, &steps)) return false;
      (*integers)[at] = step.Limited(steps);
    }
    return true;
  });
}

}  // namespace

std::vector<IntegerRule> TfliteSoftmaxRules() {
  return {
      {IntegerForm::kSoftmax,
       "TFLite's optimised rule for softmax (a table of exp, an f32 sum, times 1 / (sum * scale))", SoftmaxByExp},
      {IntegerForm::kSoftmax, "TFLite's rule for softmax (exp and 1 / x in fixed point)", SoftmaxInFixedPoint},
      {IntegerForm::kSoftmax, "TFLite's rule for softmax of 16 bits (tables of exp and of 1 / (1 + x))",
       SoftmaxOf16Bits},
      {IntegerForm::kLogSoftmax, "TFLite's optimised rule for LOG_SOFTMAX (a table of exp, an f32 sum and logarithm)",
       LogSoftmaxByTable},
      {IntegerForm::kLogSoftmax, "TFLite's rule for LOG_SOFTMAX (exp and logarithm in fixed point)",
       LogSoftmaxInFixedPoint},
      {IntegerForm::kNorm, "TFLite's rule for L2_NORMALIZATION (1 / root in fixed point, rounded twice)",
       NormInFixedPoint},
  };
}

}  // namespace plumb
