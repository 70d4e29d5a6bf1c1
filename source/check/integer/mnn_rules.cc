// SPDX-License-Identifier: Apache-2.0
// What MNN's int8 kernels compute on x86, as its source says and 3.6.1 was seen to do. They keep integers as q + 128,
// whose weights' share their biases take back. Integers begin at -127, or at -128 where a tensor of the file says so.
#include <algorithm>
#include <cmath>

#include "check/integer/integer_rules.h"
#include "op/core/fixed_factor.h"

namespace plumb {
namespace {

// A half is added in f32, the rest cut off. False: no number.
bool WithHalf(const IntegerStep& step, int64_t lowest, float steps, int64_t* integer) {
  const float more = steps + (steps < 0 ? -0.5f : 0.5f);
  if (!(std::fabs(more) < 0x1p31f)) return false;
  *integer = std::clamp(static_cast<int64_t>(more), std::max(step.low, lowest), step.high);
  return true;
}

// One output channel of a convolution.
struct MnnChannel {
  float scale = 0, bias = 0;  // of its weights; real
  int64_t weights = 0;        // their sum
};

// False: the step is no convolution, or its terms are not known.
bool ReadMnnChannels(const IntegerStep& step, std::vector<MnnChannel>* channels) {
  const Tensor* weight = step.product.kind == OpKind::kConvolution ? step.product.Resource("weight") : nullptr;
  if (weight == nullptr || !step.knows_terms || step.weight_zero != 0 || step.weight_scales.empty()) return false;
  const auto outputs = static_cast<size_t>(weight->shape()[0]);
  if (outputs != step.scales.size() || step.weight_scales.size() != outputs) return false;
  channels->resize(outputs);
  const int64_t inner = weight->shape().CountFrom(1);
  for (size_t c = 0; c < outputs; ++c) {
    MnnChannel& channel = (*channels)[c];
    channel.scale = step.weight_scales[c];
    channel.bias = step.bias.empty() ? 0 : step.real_bias[c];
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i) sum += weight->ValueAt(static_cast<int64_t>(c) * inner + i);
    if (!(std::fabs(sum) <= static_cast<double>(kInt32Max))) return false;
    channel.weights = static_cast<int64_t>(sum);
  }
  return true;
}

bool IsDepthwise(const IntegerStep& step) {
  const Tensor* weight = step.product.Resource("weight");
  return weight != nullptr && weight->shape().DimOrOne(1) == 1 && weight->shape()[0] > 1;
}

// The sum without the bias; false: beyond 32 bits.
bool SumWithoutBias(const IntegerStep& step, size_t i, size_t c, int64_t* sum) {
  const double all = step.sums.data<double>()[i] - (step.bias.empty() ? 0 : step.bias[c]);
  if (!(std::fabs(all) <= static_cast<double>(kInt32Max))) return false;
  *sum = static_cast<int64_t>(std::nearbyint(all));
  return true;
}

// The sum of q + 128 as f32, times w_scale x_scale / y_scale, plus a bias in f32: that of the graph, less the share of
// 128 and of the zero point, and the result's zero point.
template <int64_t kLowest>
bool MnnProduct(const IntegerStep& step, std::vector<int64_t>* integers) {
  std::vector<MnnChannel> channels;
  if (!ReadMnnChannels(step, &channels) || IsDepthwise(step)) return false;
  const int64_t shift = step.x.zero + 128;
  for (size_t i = 0; i < integers->size(); ++i) {
    const size_t c = step.scale_index(static_cast<int64_t>(i));
    const MnnChannel& channel = channels[c];
    int64_t sum = 0;
    if (!SumWithoutBias(step, i, c, &sum)) return false;
    const float of_weights = static_cast<float>(channel.weights) * channel.scale;
    const float share = of_weights * static_cast<float>(shift) * step.x.scale;
    const float bias = (channel.bias - share) / step.scale + static_cast<float>(step.zero);
    const float product =
        static_cast<float>(sum + channel.weights * shift) * (channel.scale * step.x.scale / step.scale);
    if (!WithHalf(step, kLowest, product + bias, &(*integers)[i])) return false;
  }
  return true;
}

// Bias and zero point as whole steps of the sum, cut off.
template <int64_t kLowest>
bool MnnDepthwise(const IntegerStep& step, std::vector<int64_t>* integers) {
  std::vector<MnnChannel> channels;
  if (!ReadMnnChannels(step, &channels) || !IsDepthwise(step)) return false;
  for (size_t i = 0; i < integers->size(); ++i) {
    const size_t c = step.scale_index(static_cast<int64_t>(i));
    const float factor = channels[c].scale * (step.x.scale / step.scale);
    const float bias = channels[c].bias / (step.x.scale * channels[c].scale);
    const float zero = static_cast<float>(step.zero) / factor;
    int64_t sum = 0;
    if (!SumWithoutBias(step, i, c, &sum) || !(std::fabs(bias) < 0x1p31f) || !(std::fabs(zero) < 0x1p31f)) return false;
    const int64_t whole = sum + static_cast<int64_t>(bias) + static_cast<int64_t>(zero);
    if (!WithHalf(step, kLowest, static_cast<float>(whole) * factor, &(*integers)[i])) return false;
  }
  return true;
}

// Max pools take integers as they are.
bool MnnMaxPool(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand& x = step.operands[0];
  const bool pools = std::any_of(step.tail_layers.begin(), step.tail_layers.end(),
                                 [](const Layer& layer) { return layer.kind == OpKind::kPooling; });
  if (!pools || x.scale != step.scale || x.zero != step.zero) return false;
  for (size_t i = 0; i < integers->size(); ++i)
    (*integers)[i] = std::clamp(static_cast<int64_t>(x.whole.data<double>()[i]) + x.zero, step.low, step.high);
  return true;
}

// Both operands as reals, times 1 / y_scale; halves away from zero, then the zero point.
template <int64_t kLowest>
bool MnnSum(const IntegerStep& step, std::vector<int64_t>* integers) {
  const IntegerOperand &a = step.operands[0], &b = step.operands[1];
  const float inverse = 1 / step.scale;
  for (size_t i = 0; i < integers->size(); ++i) {
    const float first = static_cast<float>(a.whole.data<double>()[i]) * a.scale;
    const float second = static_cast<float>(b.whole.data<double>()[i]) * b.scale;
    const float steps = std::round((step.subtracts ? first - second : first + second) * inverse);
    if (!(std::fabs(steps) < 0x1p31f)) return false;
    (*integers)[i] = std::clamp(static_cast<int64_t>(steps) + step.zero, std::max(step.low, kLowest), step.high);
  }
  return true;
}

}  // namespace

std::vector<IntegerRule> MnnRules() {
  return {
      {IntegerForm::kProduct, "MNN's rule (the sum times an f32 scale, a bias in f32, a half added and cut off)",
       MnnProduct<-127>},
      {IntegerForm::kProduct, "MNN's rule from -128 on (the sum times an f32 scale, a bias in f32, a half added)",
       MnnProduct<-128>},
      {IntegerForm::kProduct, "MNN's rule for depth-wise convolutions (bias and zero point as whole steps, cut off)",
       MnnDepthwise<-127>},
      {IntegerForm::kProduct, "MNN's rule for depth-wise convolutions from -128 on (bias and zero point cut off)",
       MnnDepthwise<-128>},
      {IntegerForm::kSum, "MNN's rule for sums (f32 reals times 1 / scale, halves away from zero)", MnnSum<-127>},
      {IntegerForm::kSum, "MNN's rule for sums from -128 on (f32 reals times 1 / scale)", MnnSum<-128>},
      {IntegerForm::kRequantise, "MNN's rule for max pools (integers as they are)", MnnMaxPool},
  };
}

}  // namespace plumb
