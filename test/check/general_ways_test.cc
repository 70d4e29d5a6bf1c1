// SPDX-License-Identifier: Apache-2.0
// What any layer may be computed as (check/cause/general_ways.h): a fault of each file, named, through the checker; and
// what is no such thing is not named.
#include <algorithm>
#include <cmath>

#include "check/computed_otherwise_util.h"
#include "op/activation.h"
#include "op/concat.h"
#include "op/convolution.h"
#include "op/cum_sum.h"
#include "op/inner_product.h"
#include "op/softmax.h"

namespace plumb {
namespace {

std::string CauseOf(const Graph& graph, const Graph& computed, const Tensor& x) {
  const LayerReport report = Judge(graph, x, ComputedBy(computed, x));
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.reason;
  return report.cause;
}

std::string CauseOf(const Graph& graph, const Tensor& x, const std::function<double(double)>& f) {
  return Judge(graph, x, Mapped(x, f)).cause;
}

Graph SumsAlongLast(bool exclusive, bool reverse) {
  return GraphOf(
      {LayerOf<CumSumParam>(OpKind::kPlumbCumSum,
                            [=](CumSumParam* p) { p->axis = 2, p->exclusive = exclusive, p->reverse = reverse; })},
      {2, 5, 9});
}

TEST(GeneralWays, AFlagTurnedRound) {
  const Tensor x = Gauss({2, 5, 9});
  EXPECT_EQ(CauseOf(SumsAlongLast(false, false), SumsAlongLast(true, false), x),
            "computed with exclusive true; the graph says false");
  EXPECT_EQ(CauseOf(SumsAlongLast(false, true), SumsAlongLast(false, false), x),
            "computed with reverse false; the graph says true");
}

TEST(GeneralWays, OneLimitOfAClip) {
  const Graph graph =
      GraphOf({LayerOf<ClipParam>(OpKind::kClip, [](ClipParam* p) { p->min = -1, p->max = 1.5f; })}, {4, 50});
  EXPECT_EQ(CauseOf(graph, Gauss({4, 50}, 2), [](double v) { return std::min(v, 1.5); }),
            "computed without its lower limit; the graph says with it");
}

TEST(GeneralWays, AFunctionOfAnotherFamily) {
  const Graph graph = GraphOf({MakeLayer(OpKind::kSoftsign, "s", {"x"}, {"y"})}, {4, 50});
  const Tensor x = Gauss({4, 50}, 2);
  EXPECT_EQ(CauseOf(graph, x, [](double v) { return std::tanh(v); }), "computed as Tanh; the graph says Softsign");
  EXPECT_EQ(CauseOf(graph, x, [](double v) { return std::tanh(v) + 0.01 * v; }), "");
  const Tensor large = Gauss({4, 50}, 2, 100);
  EXPECT_EQ(CauseOf(graph, large, [](double) { return 0.0; }), "") << "LogSigmoid is 0 there, too";
}

Graph Product(const Tensor& weight) {
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct, [](InnerProductParam* p) { p->num_output = 12; });
  layer.resources["weight"] = weight;
  return GraphOf({layer}, {6, 50});
}

TEST(GeneralWays, SumsOfWholeVectors) {
  const Tensor weight = Gauss({12, 50}, 0.2), x = Gauss({6, 50});
  Tensor few = weight.Clone().value(), last = weight.Clone().value();
  for (int64_t i = 0; i < few.NumElements(); ++i) {
    if (i % 50 >= 48) few.data<float>()[i] = 0;
    if (i % 50 < 34) last.data<float>()[i] = 0;
  }
  EXPECT_EQ(CauseOf(Product(weight), Product(few), x),
            "computed without the last 2 of 50 terms; the graph says all of them once");
  EXPECT_EQ(CauseOf(Product(weight), Product(last), x),
            "computed with the last 16 of 50 terms alone; the graph says all of them once");
}

TEST(GeneralWays, PartsOfAConcatExchanged) {
  const auto joined = [&](bool turned) {
    return GraphOf({MakeLayer(OpKind::kTanh, "t", {"x"}, {"t"}),
                    LayerOf<ConcatParam>(
                        OpKind::kConcat, [](ConcatParam* p) { p->axis = 1; },
                        turned ? std::vector<std::string>{"t", "x"} : std::vector<std::string>{"x", "t"})},
                   {2, 3, 4, 4});
  };
  const std::string cause = CauseOf(joined(false), joined(true), Gauss({2, 3, 4, 4}));
  EXPECT_EQ(cause.rfind("computed with 'x' and 't' exchanged", 0), 0u) << cause;
}

TEST(GeneralWays, SoftmaxOverAllAxesFromItsOwn) {
  const Graph graph =
      GraphOf({LayerOf<SoftmaxParam>(OpKind::kSoftmax, [](SoftmaxParam* p) { p->axis = 1; })}, {3, 4, 5});
  const Tensor x = Gauss({3, 4, 5});
  Tensor y = x.Clone().value();
  for (int64_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 20; ++i) sum += std::exp(static_cast<double>(x.data<float>()[row * 20 + i]));
    for (int64_t i = 0; i < 20; ++i)
      y.data<float>()[row * 20 + i] =
          static_cast<float>(std::exp(static_cast<double>(x.data<float>()[row * 20 + i])) / sum);
  }
  EXPECT_EQ(Judge(graph, x, y).cause,
            "computed over all axes from 1 on (ONNX's before opset 13); the graph says axis 1 alone");
}

// The border repeated: a convolution of the padded image is one without pads, of the same inner values.
TEST(GeneralWays, ABorderThatIsRepeated) {
  const auto conv = [](int pad) {
    Layer layer = LayerOf<ConvolutionParam>(OpKind::kConvolution, [pad](ConvolutionParam* p) {
      p->in_channels_per_group = 2, p->out_channels = 3, p->kernel_h = p->kernel_w = 3, p->pad_h = p->pad_w = pad;
    });
    layer.resources["weight"] = Gauss({3, 2, 3, 3}, 0.3);
    return layer;
  };
  const Tensor x = Gauss({1, 2, 6, 6});
  Tensor wide = Tensor::Create(DType::kF32, {1, 2, 8, 8}).value();
  for (int64_t i = 0; i < wide.NumElements(); ++i) {
    const int64_t row = std::clamp<int64_t>(i / 8 % 8 - 1, 0, 5), column = std::clamp<int64_t>(i % 8 - 1, 0, 5);
    wide.data<float>()[i] = x.data<float>()[i / 64 * 36 + row * 6 + column];
  }
  const Tensor y = ComputedBy(GraphOf({conv(0)}, {1, 2, 8, 8}), wide);
  EXPECT_EQ(Judge(GraphOf({conv(1)}, {1, 2, 6, 6}), x, y).cause,
            "computed with padding that repeats the border; the graph says zeros");
}

TEST(GeneralWays, AnActivationBeforeTheResidual) {
  const auto graph = [](bool early) {
    std::vector<Layer> layers = {MakeLayer(OpKind::kTanh, "t", {"x"}, {"t"})};
    if (early) {
      layers.push_back(MakeLayer(OpKind::kReLU, "relu", {"t"}, {"r"}));
      layers.push_back(MakeLayer(OpKind::kAdd, "add", {"r", "x"}, {"y"}));
    } else {
      layers.push_back(MakeLayer(OpKind::kAdd, "add", {"t", "x"}, {"s"}));
      layers.push_back(MakeLayer(OpKind::kReLU, "relu", {"s"}, {"y"}));
    }
    return GraphOf(std::move(layers), {4, 40});
  };
  const std::string cause = CauseOf(graph(false), graph(true), Gauss({4, 40}, 2));
  EXPECT_NE(cause.find("with 'relu' before 'x' is added"), std::string::npos) << cause;
}

// tract writes 1.67326 and 1.0507.
TEST(GeneralWays, SelusConstantsOfFewDigits) {
  const Graph graph = GraphOf({MakeLayer(OpKind::kSelu, "s", {"x"}, {"y"})}, {4, 50});
  const auto five = [](double v) { return 1.0507 * (v > 0 ? v : 1.67326 * std::expm1(v)); };
  EXPECT_EQ(CauseOf(graph, Gauss({4, 50}, 2), five),
            "computed with alpha 1.67326 and gamma 1.0507; the graph says 1.673263 and 1.050701");
}

}  // namespace
}  // namespace plumb
