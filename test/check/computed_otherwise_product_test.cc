// SPDX-License-Identifier: Apache-2.0
// Causes of wrong sums of products: biases, weights, pads, dilation, accumulators of few bits.
#include <cmath>

#include "base/half.h"
#include "check/computed_otherwise_util.h"
#include "op/convolution.h"
#include "op/inner_product.h"

namespace plumb {
namespace {

// x -> convolution of 16 channels, 3x3 -> y
Graph Convolution() {
  Layer layer = LayerOf<ConvolutionParam>(OpKind::kConvolution, [](ConvolutionParam* p) {
    p->group = 1, p->in_channels_per_group = 16, p->out_channels = 8, p->kernel_h = p->kernel_w = 3,
    p->stride_h = p->stride_w = 1;
    p->bias = true, p->pad_type = kPadSame;
  });
  layer.resources = {{"weight", Gauss({8, 16, 3, 3}, 0.1)}, {"bias", Gauss({8})}};
  return GraphOf({std::move(layer)}, {1, 16, 12, 12});
}

TEST(Alternatives, FaultsOfConvolutionsAreNamed) {
  const Graph graph = Convolution();
  const Tensor x = Gauss({1, 16, 12, 12});
  EXPECT_EQ(Judge(graph, x, ComputedBy(graph, x)).verdict, Verdict::kAligned);
  const auto changed = [&](const char* slot, const std::function<float(const float*, int64_t)>& f) {
    Graph other = graph;
    const Tensor before = other.layers[0].resources[slot];
    Tensor after = before.Clone().value();
    for (int64_t i = 0; i < after.NumElements(); ++i) after.data<float>()[i] = f(before.data<float>(), i);
    other.layers[0].resources[slot] = after;
    return Judge(graph, x, ComputedBy(other, x));
  };
  ExpectNamed(changed("bias", [](const float*, int64_t) { return 0.0f; }),
              "computed without the bias; the graph says with it");
  ExpectNamed(changed("weight", [](const float* w, int64_t i) { return HalfToFloat(FloatToHalf(w[i])); }),
              "computed with weights rounded to f16; the graph says f32");
  const auto cut = [](const float* w, int64_t i) {
    const float rounded = HalfToFloat(FloatToHalf(w[i]));
    const bool up = std::fabs(rounded) > std::fabs(w[i]);
    return up ? HalfToFloat(static_cast<uint16_t>(FloatToHalf(w[i]) - 1)) : rounded;
  };
  ExpectNamed(changed("weight", cut), "computed with weights rounded to f16 towards zero; the graph says f32");
  ExpectNamed(changed("weight", [](const float* w, int64_t i) { return w[i / 9 * 9 + i % 3 * 3 + i % 9 / 3]; }),
              "computed with the kernel's height and width exchanged; the graph says otherwise");
  ExpectNamed(
      changed("weight", [](const float* w, int64_t i) { return w[i / 144 * 144 + (15 - i / 9 % 16) * 9 + i % 9]; }),
      "computed with the input channels in reverse (RGB for BGR); the graph says otherwise");
  EXPECT_EQ(changed("weight", [](const float* w, int64_t i) { return 1.001f * w[i]; }).cause, "");
}

TEST(Alternatives, PadsAndDilationAreNamed) {
  const Tensor x = Gauss({1, 16, 12, 12});
  const auto with = [](int stride, int dilation, int pad) {
    Graph graph = Convolution();
    auto param = std::make_shared<ConvolutionParam>(static_cast<const ConvolutionParam&>(*graph.layers[0].param));
    param->stride_h = param->stride_w = stride, param->dilation_h = param->dilation_w = dilation;
    param->pad_type = kPadExplicit, param->pad_h = param->pad_w = pad;
    graph.layers[0].param = param;
    return graph;
  };
  const Graph strided = with(2, 1, 1), unpadded = with(2, 1, 0);
  for (const bool at_end : {true, false}) {  // pads (0, 2) and (2, 0) for (1, 1)
    Graph padded = unpadded;
    padded.inputs[0].shape = {1, 16, 14, 14};
    Tensor larger = Tensor::Zeros(DType::kF32, padded.inputs[0].shape).value();
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      const int64_t by = at_end ? 0 : 2;
      larger.data<float>()[(i / 144 * 14 + i / 12 % 12 + by) * 14 + i % 12 + by] = x.data<float>()[i];
    }
    ExpectNamed(Judge(strided, x, ComputedBy(padded, larger)),
                at_end ? "computed with pads 0 before and 2 after; the graph says 1 before and 1 after"
                       : "computed with pads 2 before and 0 after; the graph says 1 before and 1 after");
  }
  ExpectNamed(Judge(with(1, 2, 2), x, ComputedBy(with(1, 1, 1), x)),
              "computed without dilation; the graph says with it");
}

// SAME of stride 2 puts the odd pixel at the end: at the beginning it is another network; and where the graph pads both
// sides, SAME moves the pads of those axes alone that have an odd pixel.
TEST(Alternatives, SamePadsElsewhereAreNamed) {
  const auto with = [&](const Shape& input, int pad_type, int pad) {
    Graph graph = Convolution();
    auto param = std::make_shared<ConvolutionParam>(static_cast<const ConvolutionParam&>(*graph.layers[0].param));
    param->stride_h = param->stride_w = 2;
    param->pad_type = pad_type, param->pad_h = param->pad_w = pad;
    graph.layers[0].param = param;
    graph.inputs[0].shape = input;
    return graph;
  };
  const Tensor x = Gauss({1, 16, 12, 12});
  Tensor larger = Tensor::Zeros(DType::kF32, {1, 16, 13, 13}).value();
  for (int64_t i = 0; i < x.NumElements(); ++i)
    larger.data<float>()[(i / 144 * 13 + i / 12 % 12 + 1) * 13 + i % 12 + 1] = x.data<float>()[i];
  ExpectNamed(Judge(with(x.shape(), kPadSame, 0), x, ComputedBy(with(larger.shape(), kPadExplicit, 0), larger)),
              "computed with pads 1 before and 0 after; the graph says 0 before and 1 after");
  const Tensor wide = Gauss({1, 16, 12, 13});
  ExpectNamed(Judge(with(wide.shape(), kPadExplicit, 1), wide, ComputedBy(with(wide.shape(), kPadSame, 0), wide)),
              "computed with pads 0 before and 2 after along the height; the graph says 1 before and 1 after along "
              "the height");
  const Tensor tall = Gauss({1, 16, 13, 12});
  ExpectNamed(Judge(with(tall.shape(), kPadExplicit, 1), tall, ComputedBy(with(tall.shape(), kPadSame, 0), tall)),
              "computed with pads 0 before and 2 after along the width; the graph says 1 before and 1 after along "
              "the width");
}

// A sum in f16, channel by channel, in one accumulator; and bf16 with the channels innermost in four.
TEST(Alternatives, AccumulatorsOfFewBitsAreNamed) {
  const Graph graph = Convolution();
  const Tensor x = Gauss({1, 16, 12, 12});
  const float* w = graph.layers[0].resources.at("weight").data<float>();
  const float* bias = graph.layers[0].resources.at("bias").data<float>();
  const auto computed = [&](bool half) {
    const auto rounded = [half](float v) {
      return half ? HalfToFloat(FloatToHalf(v)) : BFloat16ToFloat(FloatToBFloat16(v));
    };
    Tensor y = Tensor::Create(DType::kF32, {1, 8, 12, 12}).value();
    for (int64_t o = 0; o < y.NumElements(); ++o) {
      float lanes[4] = {half ? bias[o / 144] : 0, 0, 0, 0};
      lanes[0] = rounded(lanes[0]);
      for (int64_t i = 0; i < 144; ++i) {
        const int64_t c = half ? i / 9 : i % 16, k = half ? i % 9 : i / 16;
        const int64_t row = o / 12 % 12 - 1 + k / 3, column = o % 12 - 1 + k % 3;
        const bool inside = row >= 0 && row < 12 && column >= 0 && column < 12;
        const float value = inside ? x.data<float>()[(c * 12 + row) * 12 + column] : 0;
        float& lane = lanes[half ? 0 : i % 4];
        lane = rounded(lane + value * w[(o / 144 * 16 + c) * 9 + k]);
      }
      float sum = lanes[0];
      for (int l = 1; l < 4; ++l) sum = rounded(sum + lanes[l]);
      y.data<float>()[o] = half ? sum : rounded(sum + bias[o / 144]);
    }
    return y;
  };
  ExpectNamed(Judge(graph, x, computed(true)), "accumulated in f16, channel by channel");
  ExpectNamed(Judge(graph, x, computed(false)), "accumulated in bf16, channels innermost, in 4 partial sums");
}

// A subject that stores f16: summing 4096 terms in f32 is healthy, summing them in f16 is not.
TEST(Alternatives, AnF16SubjectThatSumsInF16IsWrongAndNamed) {
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct, [](InnerProductParam* p) { p->num_output = 64; });
  const auto half = [](double v) { return static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(v)))); };
  layer.resources = {{"weight", Mapped(Gauss({64, 4096}, 0.1, 0.05), half)}};
  const float* w = layer.resources.at("weight").data<float>();
  const Graph graph = GraphOf({layer}, {2, 4096});
  const Tensor x = Mapped(Gauss({2, 4096}), half);
  const auto judged = [&](bool narrow) {
    Tensor y = Tensor::Create(DType::kF32, {2, 64}).value();
    for (int64_t o = 0; o < 128; ++o) {
      double sum = 0;
      for (int64_t k = 0; k < 4096; ++k) {
        sum += static_cast<double>(x.data<float>()[o / 64 * 4096 + k]) * static_cast<double>(w[o % 64 * 4096 + k]);
        if (narrow) sum = half(sum);
      }
      y.data<float>()[o] = static_cast<float>(half(sum));
    }
    Stored subject;
    subject.blobs = {{"x", x}, {"y", y}};
    SubjectOptions options;
    options.check.arithmetic = SubjectArithmetic::kFp16;
    return CheckSubjectBlobs(graph, subject, {}, options).value().layers[0];
  };
  EXPECT_EQ(judged(false).verdict, Verdict::kAligned) << judged(false).reason;
  ExpectNamed(judged(true), "accumulated in f16, channel by channel");
}

}  // namespace
}  // namespace plumb
