// SPDX-License-Identifier: Apache-2.0
// TFLite's kernels of one element: tables of 256 entries, tables of 16 bits between whose entries lies a straight line,
// HARD_SWISH and leaky ReLUs in fixed point.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/activation.h"
#include "op/core/fixed_factor.h"
#include "op/core/short_fixed.h"

namespace plumb {
namespace {

// LOGISTIC and TANH of 8 bits: f32(f(scale * (q - zero))) * f32(1 / y_scale), rounded by `round`.
template <class Round>
bool ByTable(const IntegerStep& step, std::vector<int64_t>* integers, Round round) {
  const IntegerOperand& x = step.operands[0];
  const bool sigmoid = step.base.kind == OpKind::kSigmoid;
  if ((!sigmoid && step.base.kind != OpKind::kTanh) || step.high - step.low != 255) return false;
  const float inverse = 1 / step.scale;
  for (size_t i = 0; i < integers->size(); ++i) {
    const float real = x.scale * static_cast<float>(x.whole.data<double>()[i]);
    const float value = sigmoid ? 1.0f / (1.0f + std::exp(-real)) : std::tanh(real);
    const float steps = round(value * inverse);
    if (!(std::fabs(steps) < 0x1p30f)) return false;
    (*integers)[i] = step.Limited(static_cast<int64_t>(steps));
  }
  return true;
}

bool TableAwayFromZero(const IntegerStep& step, std::vector<int64_t>* integers) {
  return ByTable(step, integers, [](float v) { return std::round(v); });
}

// sigmoid(i / 24) in steps of 2^-16, and half of what the line to the next entry is off by in the middle.
class SigmoidTable {
 public:
  SigmoidTable() {
    const auto sigmoid = [](double entry) { return 1 / (1 + std::exp(-entry / 24)); };
    for (int i = 0; i < 255; ++i) {
      const double line = (sigmoid(i) + sigmoid(i + 1)) / 2;
      table_[i] = std::lround(65536 * (sigmoid(i) + (sigmoid(i + 0.5) - line) / 2));
    }
    table_[255] = 65535;
  }
  // Times 2^bits, at so many 2^bits-ths of an entry, of which there are 255.
  int64_t Of(int64_t at, int bits, const IntegerStep& step) const {
    const int64_t entry = std::clamp<int64_t>((at >> bits) + step.entry, 0, 254);
    const int64_t between = step.lines ? at & ((int64_t{1} << bits) - 1) : 0;
    return (table_[entry] << bits) + between * (table_[entry + 1] - table_[entry]);
  }

 private:
  int64_t table_[256];
};

// x in steps of 1 / (3 * 4096), by a factor of 15 bits that is cut off.
struct ToThirds {
  explicit ToThirds(float scale) {
    double factor = static_cast<double>(scale) * 4096 * 3;
    while (factor <= 32767.0 / 2 && shift <= 30) factor *= 2, ++shift;
    valid = factor < 0x1p31;
    multiplier = valid ? static_cast<int64_t>(factor) : 0;
  }
  int64_t Of(int64_t x) const { return (x * multiplier + (shift > 0 ? int64_t{1} << (shift - 1) : 0)) >> shift; }

  int64_t multiplier = 0;
  int shift = 0;
  bool valid = false;
};

// LOGISTIC and TANH of 16 bits: the table's sigmoid(|x|), reflected; tanh(x) = 2 sigmoid(2 x) - 1.
bool ElementOf16Bits(const IntegerStep& step, std::vector<int64_t>* integers) {
  static const SigmoidTable table;
  const IntegerOperand& x = step.operands[0];
  const bool sigmoid = step.base.kind == OpKind::kSigmoid;
  const ToThirds thirds(x.scale);
  if ((!sigmoid && step.base.kind != OpKind::kTanh) || step.high != 32767 || step.zero != 0 || !thirds.valid)
    return false;
  const int bits = sigmoid ? 9 : 8;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double whole = x.whole.data<double>()[i];
    if (!(std::fabs(whole) <= 65535)) return false;
    const int64_t at = thirds.Of(static_cast<int64_t>(whole)), size = std::abs(at);
    const bool beyond = (size >> bits) >= 255;
    const int drop = sigmoid ? 10 : 8;
    const int64_t most = sigmoid ? int64_t{0x7FFF} << 10 : int64_t{0xFFFF} << 8;
    const int64_t value = beyond ? most : table.Of(size, bits, step), half = step.halves ? int64_t{1} << (drop - 1) : 0;
    const int64_t middle = sigmoid ? 0 : int64_t{1} << 23,
                  other = sigmoid ? (int64_t{1} << 25) - value : middle - value;
    (*integers)[i] = (at >= 0 ? value - middle + half : other + half - (step.halves ? 1 : 0)) >> drop;
  }
  return true;
}

// The same by the optimised kernels, where the scale is a power of two that leaves 3 bits in front of the point: x in
// steps of 2^-12, or 2^-11 for tanh.
bool ElementInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const bool sigmoid = step.base.kind == OpKind::kSigmoid;
  if ((!sigmoid && step.base.kind != OpKind::kTanh) || step.high != 32767 || step.zero != 0) return false;
  const int times = x.scale == 0x1p-12f ? 1 : x.scale == 0x1p-11f && !sigmoid ? 2 : 0;
  if (times == 0 || step.scale != 0x1p-15f) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const double whole = x.whole.data<double>()[i] * times;
    if (!(std::fabs(whole) <= 4 * 65535)) return false;
    const int64_t fixed = std::clamp<int64_t>(static_cast<int64_t>(whole), -32768, 32767);
    (*integers)[i] = sigmoid ? ShortSigmoid(fixed) : ShortTanh(fixed, 3);
  }
  return true;
}

// Numbers of 16 bits in which HARD_SWISH is computed.
int64_t Saturated16Bits(int64_t v) { return std::clamp<int64_t>(v, -32768, 32767); }

// a b / 2^15, halves away from zero (the nudge is one less below zero).
int64_t HighOf16Bits(int64_t a, int64_t b) {
  const int64_t product = a * b;
  return Saturated16Bits((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

int64_t FifteenBitsOf(const FixedFactor& factor) {
  return factor.multiplier >= 0x7FFF0000 ? 32767 : (factor.multiplier + (1 << 15)) >> 16;
}

// x relu6(x + 3) / 6 with x in steps of 2^-7, relu6 in steps of 3 / 2^15.
bool HardSwishInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  if (step.base.kind != OpKind::kHardSwish || step.high - step.low != 255) return false;
  const float fine = (1.0f / 128.0f) * x.scale, third = 3.0f / 32768.0f;
  const FixedFactor to_y = FixedFactorOf(static_cast<double>(fine / step.scale));
  const FixedFactor to_relu = FixedFactorOf(static_cast<double>(fine / third));
  if (!to_y.valid || !to_relu.valid || to_y.shift > 0 || to_relu.shift > 15 || to_relu.shift < -30) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const auto input = static_cast<int64_t>(x.whole.data<double>()[i]) * 128;
    int64_t relu = input;
    if (to_relu.shift > 0) relu = Saturated16Bits(relu * (int64_t{1} << (to_relu.shift - 1)));
    relu = HighOf16Bits(relu, FifteenBitsOf(to_relu));
    if (to_relu.shift > 0) relu = Saturated16Bits(relu * 2);
    if (to_relu.shift < 0) relu = ShiftedRight(relu, -to_relu.shift);
    relu = (relu + (1 << 15)) >> 1;
    const int64_t scaled = HighOf16Bits(input, FifteenBitsOf(to_y));
    const int64_t whole = ShiftedRight(Saturated16Bits(relu * scaled / (1 << 15)), -to_y.shift);
    (*integers)[i] = step.Limited(whole);
  }
  return true;
}

// Where x < 0 with its own factor; `product`: what that multiplies.
template <class F>
bool TwoFactors(const IntegerStep& step, float own, float below, std::vector<int64_t>* integers, F product) {
  const FixedFactor above_zero = FixedFactorOf(static_cast<double>(own)),
                    below_zero = FixedFactorOf(static_cast<double>(below));
  for (size_t i = 0; i < integers->size(); ++i) {
    const double whole = step.operands[0].whole.data<double>()[i], of = whole >= 0 ? whole : product(i);
    int64_t rounded = 0;
    if (!(std::fabs(of) <= static_cast<double>(kInt32Max))) return false;
    if (!RoundedTwice(static_cast<int64_t>(of), whole >= 0 ? above_zero : below_zero, &rounded)) return false;
    (*integers)[i] = step.Limited(rounded);
  }
  return true;
}

bool LeakyReluInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  float slope = 0;
  const IntegerOperand& x = step.operands[0];
  return LeakySlopeOf(step, &slope) && TwoFactors(step, x.scale / step.scale, x.scale * slope / step.scale, integers,
                                                  [&](size_t i) { return x.whole.data<double>()[i]; });
}

bool PReluInFixedPoint(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &x = step.operands[0], &slope = step.operands[1];
  return TwoFactors(step, x.scale / step.scale, x.scale * slope.scale / step.scale, integers,
                    [&](size_t i) { return x.whole.data<double>()[i] * slope.whole.data<double>()[i]; });
}

}  // namespace

bool LeakySlopeOf(const IntegerStep& step, float* slope) {
  if (step.base.kind == OpKind::kLeakyRelu) {
    *slope = ParamOf<LeakyReluParam>(step.base).slope;
    return true;
  }
  const Tensor* of_layer = step.base.kind == OpKind::kPReLU ? step.base.Resource("slope") : nullptr;
  if (of_layer == nullptr || of_layer->NumElements() != 1) return false;
  *slope = static_cast<float>(of_layer->ValueAt(0));
  return true;
}

bool XnnpackTable(const IntegerStep& step, std::vector<int64_t>* integers) {
  return ByTable(step, integers, [](float v) { return std::nearbyint(v); });
}

std::vector<IntegerRule> TfliteElementRules() {
  return {
      {IntegerForm::kElement, "TFLite's rule for sigmoid and tanh (a table of the f32 function, halves away from zero)",
       TableAwayFromZero},
      {IntegerForm::kElement, "TFLite's rule for sigmoid and tanh of 16 bits (a table of 256 straight lines)",
       ElementOf16Bits},
      {IntegerForm::kElement, "TFLite's rule for sigmoid and tanh of 16 bits (optimised: gemmlowp's fixed point)",
       ElementInFixedPoint},
      {IntegerForm::kElement, "TFLite's rule for HARD_SWISH (factors of 15 bits, in 16 bits)", HardSwishInFixedPoint},
      {IntegerForm::kElement, "TFLite's rule for leaky ReLU (two factors of 31 bits, each rounded twice)",
       LeakyReluInFixedPoint},
      {IntegerForm::kPRelu, "TFLite's rule for PRELU (two factors of 31 bits, each rounded twice)", PReluInFixedPoint},
  };
}

}  // namespace plumb
