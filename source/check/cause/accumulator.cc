#include "check/cause/accumulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"

namespace plumb {
namespace {

constexpr int64_t kSample = 64;      // outputs
constexpr int64_t kMaxTerms = 8192;  // of one output
constexpr double kCollapsed = 0.25;  // of the difference, where another order would leave about all of it

// One output's sum: its terms in the order of the weights, channel by channel, and its bias.
struct Sum {
  std::vector<float> x, w;
  float bias = 0;
  int64_t inner = 1;  // terms of one channel
  int64_t output = 0;
};

float ValueOf(const Tensor& tensor, int64_t i) { return static_cast<float>(tensor.ValueAt(i)); }

float BiasOf(const Layer& layer, int64_t channel) {
  const Tensor* bias = layer.Resource("bias");
  return bias == nullptr ? 0 : ValueOf(*bias, channel);
}

Sum ConvolutionSum(const Layer& layer, const ConvolutionShape& s, const Tensor& input, int64_t output) {
  const WindowAxis &h = s.window.h, &w = s.window.w;
  const int64_t column = output % w.out, row = output / w.out % h.out;
  const int64_t o = output / (w.out * h.out) % s.out_channels, n = output / (w.out * h.out * s.out_channels);
  const int64_t first = o / s.out_per_group() * s.in_per_group();
  Sum sum;
  sum.output = output;
  sum.bias = BiasOf(layer, o);
  sum.inner = h.kernel * w.kernel;
  for (int64_t c = 0; c < s.in_per_group(); ++c) {
    for (int64_t k = 0; k < sum.inner; ++k) {
      const int64_t y = row * h.stride - h.pad_begin + k / w.kernel * h.dilation;
      const int64_t x = column * w.stride - w.pad_begin + k % w.kernel * w.dilation;
      const bool inside = y >= 0 && y < h.in && x >= 0 && x < w.in;
      sum.x.push_back(inside ? ValueOf(input, ((n * s.in_channels + first + c) * h.in + y) * w.in + x) : 0);
      sum.w.push_back(ValueOf(*layer.Resource("weight"), (o * s.in_per_group() + c) * sum.inner + k));
    }
  }
  return sum;
}

// y[.., o] = sum over k of x[.., k] w[o, k], or w[k, o].
Sum MatrixSum(const Layer& layer, const Tensor& input, int64_t k, int64_t n, bool rows, int64_t output) {
  Sum sum;
  sum.output = output;
  const int64_t o = output % n, row = output / n;
  sum.bias = layer.kind == OpKind::kInnerProduct ? BiasOf(layer, o) : 0;
  for (int64_t i = 0; i < k; ++i) {
    sum.x.push_back(ValueOf(input, row * k + i));
    sum.w.push_back(ValueOf(*layer.Resource("weight"), rows ? o * k + i : i * n + o));
  }
  return sum;
}

// Sums of evenly spread outputs; empty where the layer is none that is known here.
std::vector<Sum> SampleOf(const ReplayedStep& step) {
  const Layer& layer = step.group.first();
  const Tensor& input = step.inputs[0];
  std::vector<Sum> sums;
  const int64_t outputs = step.device[0].NumElements();
  if (layer.Resource("weight") == nullptr) return sums;
  const Shape& weight = layer.Resource("weight")->shape();
  const bool convolves = layer.kind == OpKind::kConvolution || layer.kind == OpKind::kConvolution1D;
  const auto convolution =
      convolves ? ResolveConvolution(layer, input.shape()) : Result<ConvolutionShape>(Status::NotSupported(""));
  if (convolution.ok() && convolution->activation != kActivationNone) return sums;
  for (int64_t i = 0; i < std::min(kSample, outputs); ++i) {
    const int64_t output = i * outputs / std::min(kSample, outputs);
    if (convolution.ok()) {
      sums.push_back(ConvolutionSum(layer, *convolution, input, output));
    } else if (layer.kind == OpKind::kInnerProduct) {
      const int64_t n = ParamOf<InnerProductParam>(layer).num_output;
      sums.push_back(MatrixSum(layer, input, layer.Resource("weight")->NumElements() / n, n, true, output));
    } else if (layer.kind == OpKind::kMatMul && weight.rank() == 2 &&
               ParamOf<MatMulParam>(layer).weight_position == 1) {
      sums.push_back(MatrixSum(layer, input, weight[0], weight[1], false, output));
    }
  }
  return sums;
}

struct SumWay {
  bool half;  // f16, else bf16
  bool channels_inner, fused, bias_first;
  size_t lanes;
};

float Rounded(const SumWay& way, float x) {
  return way.half ? HalfToFloat(FloatToHalf(x)) : BFloat16ToFloat(FloatToBFloat16(x));
}

float Accumulate(const Sum& sum, const SumWay& way) {
  std::vector<float> lanes(way.lanes, 0.0f);
  if (way.bias_first) lanes[0] = Rounded(way, sum.bias);
  const auto terms = static_cast<int64_t>(sum.x.size()), channels = terms / sum.inner;
  for (int64_t i = 0; i < terms; ++i) {
    const int64_t at = way.channels_inner ? i % channels * sum.inner + i / channels : i;
    float& lane = lanes[static_cast<size_t>(i) % way.lanes];
    const float product = sum.x[static_cast<size_t>(at)] * sum.w[static_cast<size_t>(at)];
    lane = Rounded(way, lane + (way.fused ? product : Rounded(way, product)));
  }
  float total = lanes[0];
  for (size_t l = 1; l < lanes.size(); ++l) total = Rounded(way, total + lanes[l]);
  return way.bias_first ? total : Rounded(way, total + sum.bias);
}

std::string Describe(const SumWay& way) {
  return fmt::format("accumulated in {}{}{}", way.half ? "f16" : "bf16",
                     way.channels_inner ? ", channels innermost" : ", channel by channel",
                     way.lanes > 1 ? fmt::format(", in {} partial sums", way.lanes) : "");
}

}  // namespace

std::string NameAccumulator(const ReplayedStep& step) {
  if (step.group.members.size() != 1 || step.device.size() != 1 || step.device[0].dtype() != DType::kF32) return "";
  const std::vector<Sum> sums = SampleOf(step);
  if (sums.empty() || static_cast<int64_t>(sums[0].x.size()) > kMaxTerms) return "";
  double own = 0;
  for (const Sum& sum : sums) {
    const double off = step.device[0].ValueAt(sum.output) - step.replay.values[0].ValueAt(sum.output);
    own += off * off;
  }
  constexpr size_t kLanes[] = {1, 4, 8};
  for (int bits = 0; bits < 48; ++bits) {
    const SumWay way{bits % 2 == 0, bits / 2 % 2 != 0, bits / 4 % 2 == 0, bits / 8 % 2 != 0, kLanes[bits / 16]};
    if (way.channels_inner && sums[0].inner == 1) continue;
    const double enough = kCollapsed * kCollapsed * own;
    double left = 0;
    for (size_t i = 0; i < sums.size() && left < enough; ++i) {
      const double off = step.device[0].ValueAt(sums[i].output) - static_cast<double>(Accumulate(sums[i], way));
      left += off * off;
    }
    if (left < enough) return Describe(way);
  }
  return "";
}

}  // namespace plumb
