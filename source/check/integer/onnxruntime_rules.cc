// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's CPU kernels (MLAS) compute from integers, as their source says and as 1.32 was seen
// to do on x86 with AVX2 (quantised_test.py). Rounding is to an even half everywhere but in NEON's sums.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/integer/integer_rules.h"

namespace plumb {
namespace {

bool FitsInt32(double whole) { return std::fabs(whole) <= 2147483647.0; }

// Behind the zero point, as kernels of elements do it.
bool WithZeroRounded(const IntegerStep& step, float v, int64_t* integer) {
  if (!(std::fabs(v) < 0x1p31f)) return false;
  const auto rounded = static_cast<double>(std::nearbyint(v));
  *integer = static_cast<int64_t>(std::clamp(rounded, static_cast<double>(step.low), static_cast<double>(step.high)));
  return true;
}

// QLinearGlobalAveragePool: the sum of a plane * (x_scale / (y_scale * count)).
bool MeanOfSums(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const float factor = x.scale / (step.scale * static_cast<float>(step.count));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = x.whole.data<double>()[i];
    int64_t whole = 0;
    if (!FitsInt32(sum) || !RoundedToRange(step, static_cast<float>(sum) * factor, &whole)) return false;
    (*integers)[i] = whole + step.zero;
  }
  return true;
}

// QLinearMul: (a - a_zero)(b - b_zero) * f32(f32(a_scale * b_scale) / y_scale) + y_zero.
bool Times(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const float ratio = a.scale * b.scale / step.scale, zero = static_cast<float>(step.zero);
  for (size_t i = 0; i < integers->size(); ++i) {
    const double product = a.whole.data<double>()[i] * b.whole.data<double>()[i];
    const float scaled = static_cast<float>(product) * ratio;
    if (!FitsInt32(product) || !WithZeroRounded(step, scaled + zero, &(*integers)[i])) return false;
  }
  return true;
}

// What QLinearAdd's kernels share: y = a * a_ratio + b * b_ratio + constant, with integers that hold their zero points.
struct SumInF32 {
  explicit SumInF32(const IntegerStep& step)
      : a(step.operands[0]), b(step.operands[1]), a_ratio(a.scale / step.scale), b_ratio(b.scale / step.scale) {
    const float zeros = a_ratio * static_cast<float>(a.zero) + b_ratio * static_cast<float>(b.zero);
    constant = static_cast<float>(step.zero) - zeros;
  }
  float A(size_t i) const { return static_cast<float>(a.whole.data<double>()[i] + static_cast<double>(a.zero)); }
  float B(size_t i) const { return static_cast<float>(b.whole.data<double>()[i] + static_cast<double>(b.zero)); }

  const IntegerOperand &a, &b;
  const float a_ratio, b_ratio;
  float constant;
};

template <class F>
bool EachRounded(const IntegerStep& step, std::vector<int64_t>* integers, F value) {
  for (size_t i = 0; i < integers->size(); ++i) {
    if (!WithZeroRounded(step, value(i), &(*integers)[i])) return false;
  }
  return true;
}

bool SumByFma(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.subtracts) return false;
  const SumInF32 s(step);
  return EachRounded(step, integers,
                     [&](size_t i) { return std::fma(s.A(i), s.a_ratio, std::fma(s.B(i), s.b_ratio, s.constant)); });
}

// One number is added to a row: it goes into the constant.
bool SumWithNumberByFma(const IntegerStep& step, std::vector<int64_t>* integers) {
  const SumInF32 s(step);
  if (step.subtracts || (!s.a.broadcast && !s.b.broadcast)) return false;
  const bool of_a = s.a.broadcast;
  return EachRounded(step, integers, [&](size_t i) {
    const float constant = s.constant + (of_a ? s.A(i) * s.a_ratio : s.B(i) * s.b_ratio);
    return of_a ? std::fma(s.B(i), s.b_ratio, constant) : std::fma(s.A(i), s.a_ratio, constant);
  });
}

bool SumWithoutFma(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.subtracts) return false;
  const SumInF32 s(step);
  return EachRounded(step, integers, [&](size_t i) {
    const float of_a = s.A(i) * s.a_ratio, of_b = s.B(i) * s.b_ratio;
    const float first = s.constant + of_a;
    return first + of_b;
  });
}

// ARM: both ratios as integers of 22 bits, the sum shifted right, halves away from zero; of ratios in [2^-14, 2^8).
bool SumByShift(const IntegerStep& step, std::vector<int64_t>* integers) {
  const SumInF32 s(step);
  const auto usual = [](float ratio) { return ratio >= 0x1p-14f && ratio < 0x1p8f; };
  if (step.subtracts || !usual(s.a_ratio) || !usual(s.b_ratio)) return false;
  const int shift = 21 - std::ilogb(std::max(s.a_ratio, s.b_ratio));
  if (shift < 13 || shift > 31) return false;
  const auto a = static_cast<double>(std::nearbyint(std::ldexp(s.a_ratio, shift)));
  const auto b = static_cast<double>(std::nearbyint(std::ldexp(s.b_ratio, shift)));
  if (a >= 0x1p22 || b >= 0x1p22) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double sum = s.a.whole.data<double>()[i] * a + s.b.whole.data<double>()[i] * b;
    if (!FitsInt32(sum)) return false;
    // One less where the sum is negative: then halves up are halves away from zero.
    const auto whole = static_cast<int64_t>(sum) - (sum < 0 ? 1 : 0);
    const int64_t rounded = (whole + (int64_t{1} << (shift - 1))) >> shift;
    (*integers)[i] = std::clamp(rounded + step.zero, step.low, step.high);
  }
  return true;
}

// QLinearSoftmax of 8 bits: a table of exp, sums of f32 in order, 1 / y_scale cut off to a whole number.
class TableOfExp {
 public:
  TableOfExp(double scale, int64_t terms) {
    const double room = std::log(static_cast<double>(0x1.fffffep127f / static_cast<float>(terms)));
    const double shift = std::max(0.0, room - 5) / scale;
    for (int i = 0; i < 256; ++i) table_[i] = static_cast<float>(std::exp((i - 255.0 + shift) * scale));
  }
  // Of an integer that lies `below` the row's largest.
  float Of(int64_t below) const { return table_[255 - below]; }

 private:
  float table_[256];
};

bool SoftmaxByTable(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const int64_t terms = step.shape[step.axis], inner = step.shape.CountFrom(step.axis + 1);
  if (terms < 1 || step.high - step.low != 255) return false;
  const TableOfExp exp(static_cast<double>(x.scale), terms);
  const float steps = std::floor(1.0f / step.scale);
  const double* whole = x.whole.data<double>();
  for (int64_t row = 0; row < static_cast<int64_t>(integers->size()) / terms; ++row) {
    const int64_t first = row / inner * inner * terms + row % inner;
    double most = whole[first];
    for (int64_t t = 0; t < terms; ++t) most = std::max(most, whole[first + t * inner]);
    const auto value = [&](int64_t t) { return exp.Of(static_cast<int64_t>(most - whole[first + t * inner])); };
    float sum = 0;
    for (int64_t t = 0; t < terms; ++t) {
      if (!(most - whole[first + t * inner] <= 255)) return false;
      sum += value(t);
    }
    for (int64_t t = 0; t < terms; ++t) {
      const float share = std::nearbyint(value(t) * steps / sum);
      if (!(share >= 0 && share < 0x1p31f)) return false;
      const int64_t integer = static_cast<int64_t>(share) + step.zero;
      if (integer > step.high && step.low < 0) return false;  // it wraps
      (*integers)[static_cast<size_t>(first + t * inner)] = std::min(integer, step.high);
    }
  }
  return true;
}

}  // namespace

bool RequantisedInF32(const IntegerStep& step, std::vector<int64_t>* integers) {
  const double* sums = step.sums.data<double>();
  for (size_t i = 0; i < integers->size(); ++i) {
    if (!FitsInt32(sums[i])) return false;
    const float factor = step.scales[step.scale_index(static_cast<int64_t>(i))] / step.scale;
    int64_t whole = 0;
    if (!RoundedToRange(step, static_cast<float>(sums[i]) * factor, &whole)) return false;
    (*integers)[i] = whole + step.zero;
  }
  return true;
}

std::vector<IntegerRule> OnnxRuntimeRules() {
  return {
      {IntegerForm::kProduct, "ONNX Runtime's rule (the sum times an f32 scale, round half to even)", RequantisedInF32},
      {IntegerForm::kSum, "ONNX Runtime's rule for sums (f32, two FMAs, round half to even)", SumByFma},
      {IntegerForm::kSum, "ONNX Runtime's rule for a sum with one number (f32, an FMA, round half to even)",
       SumWithNumberByFma},
      {IntegerForm::kSum, "ONNX Runtime's rule for sums without FMA (f32, round half to even)", SumWithoutFma},
      {IntegerForm::kSum, "ONNX Runtime's rule for sums on ARM (scales of 22 bits, a rounding shift)", SumByShift},
      {IntegerForm::kTimes, "ONNX Runtime's rule for products (f32 scale, round half to even)", Times},
      {IntegerForm::kMean, "ONNX Runtime's rule for means (an exact sum times an f32 scale, round half to even)",
       MeanOfSums},
      {IntegerForm::kSoftmax, "ONNX Runtime's rule for softmax (a table of exp, 1 / scale cut off to a whole number)",
       SoftmaxByTable},
  };
}

}  // namespace plumb
