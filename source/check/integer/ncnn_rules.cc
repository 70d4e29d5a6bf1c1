// SPDX-License-Identifier: Apache-2.0
// What ncnn's int8 products compute where they hand on integers, as its source says and 1.0.20261020 was seen to do.
// Its scales are factors, the inverse of ours; its bias is a float; its integers begin at -127.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "check/integer/integer_rules.h"
#include "op/core/fixed_factor.h"

namespace plumb {
namespace {

// One output channel's product behind its sums.
struct NcnnChannel {
  float factor = 1;  // of the input times of the weights
  float bias = 0;
  float y_factor = 1;
  int64_t low = -127, high = 127;

  // sum * inverse + bias, times y_factor, halves away from zero; `fma`: the bias in one rounding. Nothing beyond 32
  // bits.
  std::optional<int64_t> IntegerOf(double sum, float inverse, bool fma) const {
    const auto terms = static_cast<float>(sum);
    const float product = terms * inverse, real = fma ? std::fma(terms, inverse, bias) : product + bias;
    const float steps = std::round(real * y_factor);
    if (!(std::fabs(steps) < 0x1p31f)) return std::nullopt;
    return std::clamp(static_cast<int64_t>(steps), low, high);
  }
};

bool IsNcnnProduct(const IntegerStep& step) {
  return step.zero == 0 && step.x.zero == 0 && step.weight_scales.size() == step.scales.size();
}

NcnnChannel NcnnChannelOf(const IntegerStep& step, size_t c) {
  const float x_factor = 1 / step.x.scale, w_factor = 1 / step.weight_scales[c];
  const bool positive = std::any_of(step.tail_layers.begin(), step.tail_layers.end(),
                                    [](const Layer& layer) { return layer.kind == OpKind::kReLU; });
  return {x_factor * w_factor, step.bias.empty() ? 0 : step.real_bias[c], 1 / step.scale,
          std::max<int64_t>(step.low, positive ? 0 : -127), step.high};
}

// The sum of an element without the bias; nothing beyond 32 bits.
std::optional<double> NcnnSumOf(const IntegerStep& step, size_t i, size_t c) {
  const double sum = step.sums.data<double>()[i] - (step.bias.empty() ? 0 : step.bias[c]);
  return std::fabs(sum) <= static_cast<double>(kInt32Max) ? std::optional<double>(sum) : std::nullopt;
}

template <bool kFma>
bool NcnnProduct(const IntegerStep& step, std::vector<int64_t>* integers) {
  if (!IsNcnnProduct(step)) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const size_t c = step.scale_index(static_cast<int64_t>(i));
    const NcnnChannel channel = NcnnChannelOf(step, c);
    const auto sum = NcnnSumOf(step, i, c);
    const auto whole = sum ? channel.IntegerOf(*sum, 1 / channel.factor, kFma) : std::nullopt;
    if (!whole) return false;
    (*integers)[i] = *whole;
  }
  return true;
}

// The floats that RCPPS may give for 1 / x, by their bits: CPUs differ within a relative error of 1.5 / 4096, which
// Intel and AMD both document.
struct RoughInverses {
  int32_t first = 0, last = -1;

  static float At(int32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  static RoughInverses Of(float x) {
    constexpr double kError = 1.5 / 4096;
    const auto bits_of = [](double value) {
      const auto single = static_cast<float>(value);
      int32_t bits;
      std::memcpy(&bits, &single, sizeof(bits));
      return bits;
    };
    const double exact = 1 / static_cast<double>(x);
    if (!(exact > 0x1p-120 && exact < 0x1p120)) return {};
    RoughInverses all{bits_of(exact * (1 - kError)), bits_of(exact * (1 + kError))};
    if (static_cast<double>(At(all.first)) < exact * (1 - kError)) ++all.first;
    if (static_cast<double>(At(all.last)) > exact * (1 + kError)) --all.last;
    return all;
  }
};

// Those of a channel's inverses that give one element's integer: the integers rise or fall with the inverse.
RoughInverses ThatGive(const NcnnChannel& channel, const RoughInverses& all, double sum, int64_t integer) {
  const auto passes = [&](int32_t bits, bool equal) {  // the integer, on the way from first to last
    const int64_t whole = channel.IntegerOf(sum, RoughInverses::At(bits), false).value_or(INT64_MAX);
    return equal && whole == integer ? true : (sum > 0 ? whole > integer : whole < integer);
  };
  const auto first_that = [&](bool equal) {
    int32_t low = all.first, high = all.last + 1;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (passes(middle, equal)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const auto at = [&](int32_t bits) { return channel.IntegerOf(sum, RoughInverses::At(bits), false); };
  if (at(all.first) == integer && at(all.last) == integer) return all;
  if (sum == 0) return {};
  return {first_that(true), first_that(false) - 1};
}

// The inverse that most elements of the channel agree with.
float MostGiven(const RoughInverses& all, const std::vector<RoughInverses>& by_element) {
  std::vector<std::pair<int32_t, int>> ends;  // where so many more agree
  for (const RoughInverses& one : by_element) {
    if (one.first > one.last) continue;
    ends.emplace_back(one.first, 1);
    ends.emplace_back(one.last + 1, -1);
  }
  std::sort(ends.begin(), ends.end());
  int agree = 0, most = 0;
  int32_t best = all.first + (all.last - all.first) / 2;
  for (const auto& [bits, more] : ends) {
    agree += more;
    if (agree > most) most = agree, best = bits;
  }
  return RoughInverses::At(best);
}

// On x86 the inverse comes from RCPPS: one float for each channel, which its integers tell. A channel follows the rule
// where a single one gives them all.
bool NcnnDepthwise(const IntegerStep& step, std::vector<int64_t>* integers) {
  const Tensor* weight = step.product.kind == OpKind::kConvolution ? step.product.Resource("weight") : nullptr;
  if (weight == nullptr || weight->shape().DimOrOne(1) != 1 || weight->shape()[0] < 2 || !IsNcnnProduct(step) ||
      step.written.size() != integers->size())
    return false;
  std::vector<std::vector<size_t>> elements(step.scales.size());
  for (size_t i = 0; i < integers->size(); ++i) elements[step.scale_index(static_cast<int64_t>(i))].push_back(i);
  for (size_t c = 0; c < elements.size(); ++c) {
    const NcnnChannel channel = NcnnChannelOf(step, c);
    const RoughInverses all = RoughInverses::Of(channel.factor);
    if (all.first > all.last) return false;
    std::vector<RoughInverses> by_element;
    for (const size_t i : elements[c]) {
      const auto sum = NcnnSumOf(step, i, c);
      if (!sum || !channel.IntegerOf(*sum, RoughInverses::At(all.last), false)) return false;
      const RoughInverses one = ThatGive(channel, all, *sum, step.written[i]);
      const bool any = one.first == all.first && one.last == all.last;
      if (!any) by_element.push_back(one);
    }
    const float inverse = MostGiven(all, by_element);
    for (const size_t i : elements[c])
      (*integers)[i] = channel.IntegerOf(*NcnnSumOf(step, i, c), inverse, false).value_or(0);
  }
  return true;
}

}  // namespace

std::vector<IntegerRule> NcnnRules() {
  return {
      {IntegerForm::kProduct, "ncnn's rule (f32, its bias a float, halves away from zero, from -127 on)",
       NcnnProduct<false>},
      {IntegerForm::kProduct, "ncnn's rule by FMA (f32, its bias a float, halves away from zero, from -127 on)",
       NcnnProduct<true>},
      {IntegerForm::kProduct,
       "ncnn's rule for depth-wise convolutions on x86 (1 / x by RCPPS, within 1.5 / 4096, one for each channel)",
       NcnnDepthwise},
  };
}

}  // namespace plumb
