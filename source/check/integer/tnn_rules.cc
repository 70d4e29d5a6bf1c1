// SPDX-License-Identifier: Apache-2.0
// What TNN's 8-bit kernels compute from integers, as their source says: those of ARM round halves away from zero, the
// naive ones add a half in f32, the zero point before it, and cut off. A product's scale is the file's, which holds the
// input's, by the result's.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/core/fixed_factor.h"

namespace plumb {
namespace {

// Steps of the result as an integer; false: no number.
using RoundSteps = bool (*)(const IntegerStep& step, float steps, int64_t* integer);

// ARM has no zero points.
bool AwayFromZero(const IntegerStep& step, float steps, int64_t* integer) {
  if (!(std::fabs(steps) < 0x1p60f) || step.zero != 0) return false;
  *integer = step.Limited(static_cast<int64_t>(std::round(steps)));
  return true;
}

bool HalfAdded(const IntegerStep& step, float steps, int64_t* integer) {
  if (!(std::fabs(steps) < 0x1p60f)) return false;
  const float value = steps + static_cast<float>(step.zero), more = value + (value >= 0 ? 0.5f : -0.5f);
  *integer = std::clamp(static_cast<int64_t>(more), step.low, step.high);
  return true;
}

bool IsSum32(double sum) { return std::fabs(sum) <= static_cast<double>(kInt32Max); }

// The sum in steps of the result; with a fused Add what is added, too, in one operation with its factor or in two.
template <bool kOneOperation>
float ProductSteps(const IntegerStep& step, size_t i) {
  const auto at = static_cast<int64_t>(i);
  const float factor = step.scales[step.scale_index(at)] / step.scale_at(at);
  float steps = static_cast<float>(step.sums.data<double>()[i]) * factor;
  if (step.rectified) steps = std::max(steps, 0.0f);
  if (step.operands.empty()) return steps;
  const auto added = static_cast<float>(step.operands[0].whole.data<double>()[i]);
  const float of_added = step.operand_scale_at(0, at) / step.scale_at(at);
  return kOneOperation ? std::fma(added, of_added, steps) : steps + added * of_added;
}

template <RoundSteps kRound>
bool TnnProduct(const IntegerStep& step, std::vector<int64_t>* integers) {
  for (size_t i = 0; i < integers->size(); ++i) {
    if (!IsSum32(step.sums.data<double>()[i]) || !kRound(step, ProductSteps<false>(step, i), &(*integers)[i]))
      return false;
  }
  return true;
}

template <RoundSteps kRound>
bool TnnProductWithFma(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (step.operands.empty()) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    if (!IsSum32(step.sums.data<double>()[i]) || !kRound(step, ProductSteps<true>(step, i), &(*integers)[i]))
      return false;
  }
  return true;
}

// Both operands as reals; divided by the result's scale (naive), or times its inverse (ARM).
template <RoundSteps kRound, bool kDivides>
bool TnnSum(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  if (!kDivides && (a.zero != 0 || b.zero != 0 || step.subtracts)) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const float first = step.operand_scale_at(0, at) * static_cast<float>(a.whole.data<double>()[i]);
    const float second = step.operand_scale_at(1, at) * static_cast<float>(b.whole.data<double>()[i]);
    const float sum = step.subtracts ? first - second : first + second, scale = step.scale_at(at);
    if (!kRound(step, kDivides ? sum / scale : sum * (1 / scale), &(*integers)[i])) return false;
  }
  return true;
}

// Sum by count, cut off towards zero; pools keep scale and zero point.
bool TnnMean(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  if (x.scale != step.scale || x.scales != step.channel_scales || x.zero != step.zero) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const int64_t count = step.counts.empty() ? step.count : step.counts[i];
    const double sum = x.whole.data<double>()[i] + static_cast<double>(x.zero) * static_cast<double>(count);
    if (count < 1 || !IsSum32(sum)) return false;
    (*integers)[i] = std::clamp(static_cast<int64_t>(sum) / count, step.low, step.high);
  }
  return true;
}

// Max pools begin at -127, which they give in place of -128.
bool TnnMaxPool(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const bool pools = std::any_of(step.tail_layers.begin(), step.tail_layers.end(),
                                 [](const Layer& layer) { return layer.kind == OpKind::kPooling; });
  if (!pools || step.low != -128 || x.scale != step.scale || x.scales != step.channel_scales || x.zero != step.zero)
    return false;
  for (size_t i = 0; i < integers->size(); ++i)
    (*integers)[i] = std::max<int64_t>(static_cast<int64_t>(x.whole.data<double>()[i]) + x.zero, -127);
  return true;
}

// Concat on ARM: each part's integers times in / out.
bool TnnJoin(const IntegerStep& step, std::vector<int64_t>* integers) {
  const int64_t whole = step.shape.CountFrom(step.axis), outer = step.shape.Count(0, step.axis);
  int64_t offset = 0;
  if (!step.channel_scales.empty()) return false;
  for (const IntegerOperand& part : step.operands) {
    if (!part.scales.empty()) return false;
    const float factor = part.scale / step.scale;
    const int64_t run = part.whole.shape().CountFrom(step.axis);
    for (int64_t i = 0; i < outer * run; ++i) {
      int64_t& integer = (*integers)[static_cast<size_t>(i / run * whole + offset + i % run)];
      const auto steps = static_cast<float>(part.whole.data<double>()[i]);
      if (part.zero != 0 || !AwayFromZero(step, steps * factor, &integer)) return false;
    }
    offset += run;
  }
  return offset == whole;
}

}  // namespace

std::vector<IntegerRule> TnnRules() {
  return {
      {IntegerForm::kProduct, "TNN's rule (the sum times an f32 scale, halves away from zero)",
       TnnProduct<AwayFromZero>},
      {IntegerForm::kProduct, "TNN's naive rule (the sum times an f32 scale, a half added in f32 and cut off)",
       TnnProduct<HalfAdded>},
      {IntegerForm::kProduct, "TNN's rule for a fused Add (an FMA, halves away from zero)",
       TnnProductWithFma<AwayFromZero>},
      {IntegerForm::kProduct, "TNN's naive rule for a fused Add (an FMA, a half added in f32 and cut off)",
       TnnProductWithFma<HalfAdded>},
      {IntegerForm::kSum, "TNN's rule for sums (f32 reals times 1 / scale, halves away from zero)",
       TnnSum<AwayFromZero, false>},
      {IntegerForm::kSum, "TNN's naive rule for sums (f32 reals by the scale, a half added in f32 and cut off)",
       TnnSum<HalfAdded, true>},
      {IntegerForm::kMean, "TNN's rule for average pools (an exact sum, cut off)", TnnMean},
      {IntegerForm::kWindowMean, "TNN's rule for average pools (an exact sum, cut off)", TnnMean},
      {IntegerForm::kRequantise, "TNN's rule for max pools (-127 in place of -128)", TnnMaxPool},
      {IntegerForm::kJoin, "TNN's rule for Concat (times an f32 scale, halves away from zero)", TnnJoin},
  };
}

}  // namespace plumb
