// SPDX-License-Identifier: Apache-2.0
// What a wrong layer was computed as is named, through the checker, on synthetic subjects of one step; and the verdict
// stays. Sums of products: computed_otherwise_product_test.cc.
#include <algorithm>
#include <cmath>

#include "check/computed_otherwise_util.h"
#include "op/activation.h"
#include "op/lrn.h"
#include "op/matmul_integer.h"
#include "op/norm.h"
#include "op/pooling.h"
#include "op/quantize_linear.h"
#include "op/resize.h"
#include "op/softmax.h"
#include "op/upsample.h"

namespace plumb {
namespace {

double ErfGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double TanhGelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

TEST(Alternatives, HealthyLayersHaveNone) {
  const Graph graph = GraphOf({MakeLayer(OpKind::kGELU, "g", {"x"}, {"y"})}, {2, 64, 8});
  const Tensor x = Gauss({2, 64, 8}, 2);
  const LayerReport report = Judge(graph, x, Mapped(x, ErfGelu));
  EXPECT_EQ(report.verdict, Verdict::kAligned) << report.reason;
  EXPECT_EQ(report.cause, "");
}

TEST(Alternatives, FormsOfGeluAreToldApart) {
  const Graph graph = GraphOf({MakeLayer(OpKind::kGELU, "g", {"x"}, {"y"})}, {2, 64, 8});
  const Tensor x = Gauss({2, 64, 8}, 2);
  ExpectNamed(Judge(graph, x, Mapped(x, TanhGelu)), "computed as tanh-GELU; the graph says erf-GELU");
  ExpectNamed(Judge(graph, x, Mapped(x, [](double v) { return v / (1 + std::exp(-1.702 * v)); })),
              "computed as x sigmoid(1.702 x); the graph says erf-GELU");
  ExpectNamed(Judge(graph, x, Mapped(x, [](double v) { return v > 3.79    ? v
                                                              : v < -3.79 ? 0
                                                                          : TanhGelu(v); })),
              "computed as tanh-GELU cut off at |x| > 3.79; the graph says erf-GELU");
  EXPECT_EQ(Judge(graph, x, Mapped(x, [](double v) { return 1.01 * ErfGelu(v); })).cause, "");
}

// The tanh form in nine layers, of which the subject has input and output.
TEST(Alternatives, ADecomposedGeluIsOneFunction) {
  std::vector<Layer> layers = {
      MakeLayer(OpKind::kMul, "square", {"x", "x"}, {"a"}),    MakeLayer(OpKind::kMul, "cube", {"a", "x"}, {"b"}),
      MakeLayer(OpKind::kMul, "part", {"b", "k"}, {"c"}),      MakeLayer(OpKind::kAdd, "sum", {"x", "c"}, {"d"}),
      MakeLayer(OpKind::kMul, "inner", {"d", "r"}, {"e"}),     MakeLayer(OpKind::kTanh, "tanh", {"e"}, {"f"}),
      MakeLayer(OpKind::kAdd, "shifted", {"f", "one"}, {"g"}), MakeLayer(OpKind::kMul, "half", {"x", "h"}, {"i"}),
      MakeLayer(OpKind::kMul, "gelu", {"i", "g"}, {"y"})};
  Graph graph = GraphOf(std::move(layers), {2, 64, 8});
  const auto constant = [](float value) {
    Tensor tensor = Tensor::Create(DType::kF32, {1}).value();
    tensor.data<float>()[0] = value;
    return tensor;
  };
  graph.constants = {
      {"k", constant(0.044715f)}, {"r", constant(0.79788456f)}, {"one", constant(1)}, {"h", constant(0.5f)}};
  const Tensor x = Gauss({2, 64, 8}, 2);
  EXPECT_EQ(Judge(graph, x, Mapped(x, TanhGelu)).verdict, Verdict::kAligned);
  ExpectNamed(Judge(graph, x, Mapped(x, ErfGelu)), "computed as erf-GELU; the graph says tanh-GELU");
}

TEST(Alternatives, SaturatingFunctionsAreNamed) {
  Tensor x = Gauss({64}, 40, 60);
  const Graph exp = GraphOf({MakeLayer(OpKind::kExp, "e", {"x"}, {"y"})}, {64});
  ExpectNamed(Judge(exp, x, Mapped(x, [](double v) { return std::exp(std::min(v, 87.0)); })),
              "computed as Exp that saturates at x = 87 (6.1e37); the graph says Exp");
  const Graph softplus = GraphOf({MakeLayer(OpKind::kSoftplus, "s", {"x"}, {"y"})}, {64});
  ExpectNamed(
      Judge(softplus, x,
            Mapped(x, [](double v) { return std::min(87.0, std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)))); })),
      "computed as Softplus that saturates at 87; the graph says Softplus");
  const Graph round = GraphOf({MakeLayer(OpKind::kPlumbRound, "r", {"x"}, {"y"})}, {64});
  for (int64_t i = 0; i < 64; ++i) x.data<float>()[i] = 0.25f * static_cast<float>(i - 30);
  const LayerReport rounded = Judge(round, x, Mapped(x, [](double v) { return std::round(v); }));
  ExpectNamed(rounded, "computed as rounding half away from zero; the graph says rounding half to even");
}

// Five decades between the channels; f32 sums of squares that slide along them.
TEST(Alternatives, SlidingSumsOfLrnAreNamed) {
  const Graph graph =
      GraphOf({LayerOf<LrnParam>(OpKind::kLRN, [](LrnParam* p) { p->alpha = 1, p->size = 3; })}, {1, 16, 5, 5});
  Tensor x = Gauss({1, 16, 5, 5});
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<float>()[i] *= i / 25 == 5 ? 300.0f : 1.0f;
  Tensor y = x.Clone().value();
  for (int64_t p = 0; p < 25; ++p) {
    const auto square = [&](int64_t c) {
      return c < 0 || c > 15 ? 0 : x.data<float>()[c * 25 + p] * x.data<float>()[c * 25 + p];
    };
    float sum = square(0);
    for (int64_t c = 0; c < 16; ++c) {
      sum = sum + square(c + 1);
      sum = sum - square(c - 2);
      y.data<float>()[c * 25 + p] /= std::pow(1 + sum / 3, 0.75f);
    }
  }
  ExpectNamed(Judge(graph, x, y),
              "computed as LRN whose sum slides along the channels, adding and subtracting; the graph says each "
              "window's own sum");
  Graph other = graph;
  other.layers[0] = LayerOf<LrnParam>(OpKind::kLRN, [](LrnParam* p) { p->alpha = 3, p->size = 3; });
  ExpectNamed(Judge(graph, x, ComputedBy(other, x)), "computed with alpha 3; the graph says 1");
}

TEST(Alternatives, NormsOfAnotherVarianceOrEpsilonAreNamed) {
  const auto with = [](float eps) {
    return GraphOf(
        {LayerOf<GroupNormParam>(OpKind::kGroupNorm, [=](GroupNormParam* p) { p->group = 2, p->eps = eps; })},
        {2, 8, 9, 9});
  };
  const Tensor x = Gauss({2, 8, 9, 9}, 0.05, 0.1);
  ExpectNamed(Judge(with(1e-5f), x, ComputedBy(with(1e-3f), x)), "computed with epsilon 0.001; the graph says 1e-05");
  ExpectNamed(Judge(with(1e-5f), x, ComputedBy(with(0.00025f), x)),
              "computed with epsilon 0.00025; the graph says 1e-05");
  const Tensor far = Gauss({2, 8, 9, 9}, 1, 100);
  const auto norm = [&](bool one_pass, const Tensor& from) {
    Tensor y = from.Clone().value();
    for (int64_t row = 0; row < 4; ++row) {
      const float* v = from.data<float>() + row * 324;
      float sum = 0, squares = 0;
      double exact = 0, mean = 0;
      for (int i = 0; i < 324; ++i) sum += v[i], squares += v[i] * v[i], mean += static_cast<double>(v[i]) / 324;
      for (int i = 0; i < 324; ++i) exact += (static_cast<double>(v[i]) - mean) * (static_cast<double>(v[i]) - mean);
      const float m = one_pass ? sum / 324 : static_cast<float>(mean);
      const float variance = one_pass ? squares / 324 - m * m : static_cast<float>(exact / 323);
      for (int i = 0; i < 324; ++i) y.data<float>()[row * 324 + i] = (v[i] - m) / std::sqrt(variance + 1e-5f);
    }
    return y;
  };
  ExpectNamed(Judge(with(1e-5f), x, norm(false, x)),
              "computed as a norm whose variance is divided by n - 1; the graph says n");
  const LayerReport one_pass = Judge(with(1e-5f), far, norm(true, far));
  EXPECT_NE(one_pass.cause.find("E[x^2] - mean^2 (one pass)"), std::string::npos) << one_pass.cause << one_pass.reason;
}

TEST(Alternatives, SoftmaxWithoutItsShiftIsNamed) {
  const auto softmax = [](OpKind kind, int axis) {
    return GraphOf({LayerOf<SoftmaxParam>(kind, [=](SoftmaxParam* p) { p->axis = axis; })}, {3, 8, 5});
  };
  const Tensor x = Gauss({3, 8, 5}, 40, 20);
  const auto rows = [&](const std::function<float(float, float)>& of) {  // of(x, sum exp(x)) in f32
    Tensor y = x.Clone().value();
    for (int64_t n = 0; n < 3; ++n) {
      for (int64_t i = 0; i < 5; ++i) {
        float sum = 0;
        for (int64_t c = 0; c < 8; ++c) sum += std::exp(x.data<float>()[(n * 8 + c) * 5 + i]);
        for (int64_t c = 0; c < 8; ++c)
          y.data<float>()[(n * 8 + c) * 5 + i] = of(x.data<float>()[(n * 8 + c) * 5 + i], sum);
      }
    }
    return y;
  };
  ExpectNamed(Judge(softmax(OpKind::kSoftmax, 1), x, rows([](float v, float sum) { return std::exp(v) / sum; })),
              "computed as exp(x) / sum exp(x) without the shift by the maximum; the graph says with it");
  ExpectNamed(Judge(softmax(OpKind::kSoftmax, 1), x, ComputedBy(softmax(OpKind::kSoftmax, 2), x)),
              "computed along axis 2; the graph says axis 1");
  const Tensor p = ComputedBy(softmax(OpKind::kSoftmax, 1), x);
  ExpectNamed(Judge(softmax(OpKind::kLogSoftmax, 1), x, Mapped(p, [](double v) { return std::log(v); })),
              "computed as log(softmax(x)); the graph says x - max - log sum exp(x - max)");
  ExpectNamed(
      Judge(softmax(OpKind::kLogSoftmax, 1), x, Mapped(p, [](double v) { return std::log(std::max(v, 0x1p-126)); })),
      "computed as log(softmax(x)) cut off at -87.3; the graph says x - max - log sum exp(x - max)");
  ExpectNamed(Judge(softmax(OpKind::kLogSoftmax, 1), x, p), "computed as Softmax; the graph says LogSoftmax");
}

TEST(Alternatives, PowersByLogarithmAreNamed) {
  const Graph graph = GraphOf({LayerOf<PowerParam>(OpKind::kPower, [](PowerParam* p) { p->exponent = 3; })}, {64});
  const Tensor x = Gauss({64});
  ExpectNamed(Judge(graph, x, Mapped(x, [](double v) { return v < 0 ? NAN : v * v * v; })),
              "computed as exp2(exponent log2 base), NaN for a negative base; the graph says a power of it");
}

TEST(Alternatives, ResizeRulesAreNamed) {
  const auto resize = [](const char* mode, const char* coordinates, const char* nearest) {
    return GraphOf(
        {LayerOf<ResizeParam>(
            OpKind::kPlumbResize,
            [=](ResizeParam* p) {
              p->mode = mode, p->coordinates = coordinates, p->nearest_mode = nearest, p->sizes = {1, 2, 11, 13};
            })},
        {1, 2, 5, 6});
  };
  const Tensor x = Gauss({1, 2, 5, 6});
  const Graph linear = resize("linear", "half_pixel", "floor"), nearest = resize("nearest", "asymmetric", "floor");
  ExpectNamed(Judge(linear, x, ComputedBy(resize("linear", "align_corners", "floor"), x)),
              "computed as linear, align_corners; the graph says linear, half_pixel");
  ExpectNamed(Judge(linear, x, ComputedBy(resize("linear", "asymmetric", "floor"), x)),
              "computed as linear, asymmetric; the graph says linear, half_pixel");
  ExpectNamed(Judge(nearest, x, ComputedBy(resize("nearest", "asymmetric", "ceil"), x)),
              "computed as nearest, asymmetric, ceil; the graph says nearest, asymmetric, floor");
  Tensor sampled = ComputedBy(linear, x);
  for (int64_t i = 0; i < sampled.NumElements(); ++i) {
    const auto axis = [](int64_t o, int64_t in, int64_t out) {  // element below and the fraction of 8 bits
      const double at =
          std::clamp((static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5, 0.0,
                     static_cast<double>(in - 1));
      const double below = std::min(std::floor(at), static_cast<double>(in - 2));
      return std::pair(static_cast<int64_t>(below), std::nearbyint((at - below) * 256) / 256);
    };
    const auto [h, dy] = axis(i / 13 % 11, 5, 11);
    const auto [w, dx] = axis(i % 13, 6, 13);
    const float* v = x.data<float>() + (i / 143 * 5 + h) * 6 + w;
    const double top = static_cast<double>(v[0]) * (1 - dx) + static_cast<double>(v[1]) * dx;
    const double bottom = static_cast<double>(v[6]) * (1 - dx) + static_cast<double>(v[7]) * dx;
    sampled.data<float>()[i] = static_cast<float>(top * (1 - dy) + bottom * dy);
  }
  EXPECT_NE(Judge(linear, x, sampled).cause.find("weights of 8 bits"), std::string::npos);
  const Graph upsample = GraphOf(
      {LayerOf<UpsampleParam>(OpKind::kUpsample,
                              [](UpsampleParam* p) { p->mode = kUpsampleLinear, p->out_h = 11, p->out_w = 13; })},
      {1, 2, 5, 6});
  ExpectNamed(Judge(upsample, x, ComputedBy(resize("linear", "align_corners", "floor"), x)),
              "computed as linear, align_corners; the graph says linear, half_pixel");
}

TEST(Alternatives, PoolingsPaddingIsNamed) {
  const auto pool = [](bool counts) {
    return GraphOf({LayerOf<PlumbAveragePoolParam>(OpKind::kPlumbAveragePool,
                                                   [=](PlumbAveragePoolParam* p) {
                                                     p->kernel_h = p->kernel_w = 3,
                                                     p->pad_top = p->pad_bottom = p->pad_left = p->pad_right = 1;
                                                     p->count_include_pad = counts;
                                                   })},
                   {1, 2, 8, 8});
  };
  const Graph plain = GraphOf({LayerOf<PoolingParam>(OpKind::kPooling,
                                                     [](PoolingParam* p) {
                                                       p->pool_type = kPoolAverage, p->kernel_h = p->kernel_w = 3,
                                                       p->stride_h = p->stride_w = 1;
                                                       p->pad_h = p->pad_w = 1, p->pad_type = kPadExplicit;
                                                     })},
                              {1, 2, 8, 8});
  const Tensor x = Gauss({1, 2, 8, 8});
  ExpectNamed(Judge(pool(false), x, ComputedBy(pool(true), x)),
              "computed as average pooling that counts its padding; the graph says to leave it out");
  ExpectNamed(Judge(pool(true), x, ComputedBy(plain, x)),
              "computed as average pooling that leaves its padding out; the graph says to count it");
  ExpectNamed(Judge(plain, x, ComputedBy(pool(true), x)),
              "computed as average pooling that counts its padding; the graph says to leave it out");
  Graph max = plain;
  auto param = std::make_shared<PoolingParam>(static_cast<const PoolingParam&>(*plain.layers[0].param));
  param->pool_type = kPoolMax;
  max.layers[0].param = param;
  ExpectNamed(Judge(max, x, ComputedBy(plain, x)), "computed as average pooling; the graph says max pooling");
}

TEST(Alternatives, OtherOperatorsOfTheSameFormAreNamed) {
  const Tensor x = Gauss({4, 16});
  const auto pair = [&](OpKind kind, const char* a, const char* b) {
    return GraphOf({MakeLayer(OpKind::kAbs, "abs", {"x"}, {"a"}), MakeLayer(kind, "layer", {a, b}, {"y"})}, {4, 16});
  };
  const auto judged = [&](const Graph& says, const Graph& computed) {
    Stored subject;
    subject.blobs = {{"x", x}, {"a", Mapped(x, [](double v) { return std::fabs(v); })}, {"y", ComputedBy(computed, x)}};
    return CheckSubjectBlobs(says, subject, {}, {}).value().layers.back();
  };
  ExpectNamed(judged(pair(OpKind::kAdd, "x", "a"), pair(OpKind::kMul, "x", "a")),
              "computed as Mul; the graph says Add");
  ExpectNamed(judged(pair(OpKind::kSub, "x", "a"), pair(OpKind::kSub, "a", "x")),
              "computed with its operands exchanged; the graph says otherwise");
  Layer prelu = MakeLayer(OpKind::kPReLU, "p", {"x"}, {"y"});
  prelu.resources = {{"slope", Tensor::Zeros(DType::kF32, {1}).value()}};
  prelu.resources["slope"].data<float>()[0] = 0.1f;
  const Graph leaky = GraphOf({prelu}, {4, 16});
  ExpectNamed(Judge(leaky, x, Mapped(x, [](double v) { return v < 0 ? 0.02 * v : v; })),
              "computed with slope 0.02; the graph says 0.1");
  ExpectNamed(Judge(leaky, x, Mapped(x, [](double v) { return v < 0 ? 0 : v; })),
              "computed as ReLU; the graph says slope 0.1");
}

// Quantisation: scale 0.25, so that every 8th value is a tie.
TEST(Alternatives, RoundingRulesAreNamed) {
  Graph graph = GraphOf({LayerOf<QuantizeLinearParam>(OpKind::kPlumbQuantizeLinear,
                                                      [](QuantizeLinearParam* p) { p->dtype = "i8"; }, {"x", "scale"})},
                        {64});
  Tensor scale = Tensor::Create(DType::kF32, Shape{}).value();
  scale.data<float>()[0] = 0.25f;
  graph.constants = {{"scale", scale}};
  Tensor x = Gauss({64}), away = Tensor::Create(DType::kI64, {64}).value();
  for (int64_t i = 0; i < 64; ++i) {
    x.data<float>()[i] = 0.03125f * static_cast<float>(i - 30);
    away.data<int64_t>()[i] = static_cast<int64_t>(std::round(x.data<float>()[i] / 0.25f));
  }
  ExpectNamed(Judge(graph, x, away), "computed with rounding half away from zero; the graph says half to even");
}

// Scale 1 / 255 in f32, whose inverse is a little below 255: as a whole number 254.
TEST(Alternatives, AnInverseScaleThatIsCutOffIsNamed) {
  Graph graph = GraphOf({LayerOf<QuantizeLinearParam>(OpKind::kPlumbQuantizeLinear,
                                                      [](QuantizeLinearParam* p) { p->dtype = "u8"; }, {"x", "scale"})},
                        {64});
  Tensor scale = Tensor::Create(DType::kF32, Shape{}).value();
  scale.data<float>()[0] = 0.003921569f;
  graph.constants = {{"scale", scale}};
  Tensor x = Gauss({64}), cut = Tensor::Create(DType::kI64, {64}).value();
  for (int64_t i = 0; i < 64; ++i) {
    x.data<float>()[i] = static_cast<float>(i) / 63;
    cut.data<int64_t>()[i] = static_cast<int64_t>(std::nearbyint(x.data<float>()[i] * 254));
  }
  ExpectNamed(Judge(graph, x, cut), "computed with 1 / scale cut off to a whole number; the graph says as it is");
}

// The same behind another quantisation, whose scale is what it was when the next one is looked at.
TEST(Alternatives, AnInverseScaleThatIsCutOffIsNamedBehindAnother) {
  const auto quantize = [](const std::string& name, const std::string& in, const std::string& by) {
    Layer layer = LayerOf<QuantizeLinearParam>(OpKind::kPlumbQuantizeLinear,
                                               [](QuantizeLinearParam* p) { p->dtype = "u8"; }, {in, by});
    layer.name = name;
    layer.outputs = {name};
    return layer;
  };
  Graph graph =
      GraphOf({quantize("a", "x", "first"), MakeLayer(OpKind::kPlumbDequantizeLinear, "b", {"a", "first"}, {"b"}),
               quantize("y", "b", "second")},
              {64});
  for (const auto& [name, value] : {std::pair<const char*, float>{"first", 0.035f}, {"second", 0.003921569f}}) {
    graph.constants[name] = Tensor::Create(DType::kF32, Shape{}).value();
    graph.constants[name].data<float>()[0] = value;
  }
  Tensor x = Gauss({64}), cut = Tensor::Create(DType::kI64, {64}).value();
  for (int64_t i = 0; i < 64; ++i) {
    x.data<float>()[i] = 0.035f * static_cast<float>(i % 28);
    cut.data<int64_t>()[i] = static_cast<int64_t>(std::nearbyint(static_cast<double>(x.data<float>()[i]) * 254));
  }
  ExpectNamed(Judge(graph, x, cut), "computed with 1 / scale cut off to a whole number; the graph says as it is");
}

// u8 times i8 on x86 without VNNI; both have a zero point.
TEST(Alternatives, ProductsThatSaturateInPairsAreNamed) {
  constexpr int64_t kRows = 4, kTerms = 33, kColumns = 3, kZero = 7;
  Graph graph = GraphOf(
      {LayerOf<MatMulIntegerParam>(OpKind::kPlumbMatMulInteger,
                                   [](MatMulIntegerParam* p) { p->has_a_zero_point = true; }, {"x", "w", "zero"})},
      {kRows, kTerms});
  graph.inputs[0].dtype = DType::kI64;
  Tensor x = Tensor::Create(DType::kI64, {kRows, kTerms}).value(),
         w = Tensor::Create(DType::kI64, {kTerms, kColumns}).value();
  Tensor zero = Tensor::Create(DType::kI64, Shape{}).value(),
         y = Tensor::Create(DType::kI32, {kRows, kColumns}).value();
  zero.data<int64_t>()[0] = kZero;
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<int64_t>()[i] = i * 53 % 256;
  for (int64_t i = 0; i < w.NumElements(); ++i) w.data<int64_t>()[i] = i * 29 % 255 - 127;
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    int64_t sum = 0;
    for (int64_t k = 0; k < kTerms; k += 2) {
      int64_t pair = 0;
      for (int64_t j = k; j < std::min(k + 2, kTerms); ++j) {
        const int64_t b = w.data<int64_t>()[j * kColumns + i % kColumns];
        pair += x.data<int64_t>()[i / kColumns * kTerms + j] * b;
        sum -= kZero * b;
      }
      sum += std::clamp<int64_t>(pair, -32768, 32767);
    }
    y.data<int32_t>()[i] = static_cast<int32_t>(sum);
  }
  graph.constants = {{"w", w}, {"zero", zero}};
  ExpectNamed(Judge(graph, x, y),
              "computed with pairs of 8-bit products that saturate at 16 bits (vpmaddubsw, x86 without VNNI); the "
              "graph says exact sums");
}

TEST(Alternatives, OneOfThemIsNamedInTheGraphOfSeveral) {
  Graph graph =
      GraphOf({MakeLayer(OpKind::kGELU, "g", {"x"}, {"a"}), MakeLayer(OpKind::kTanh, "t", {"a"}, {"y"})}, {64});
  graph.layers[0].outputs = {"a"};
  Stored subject;
  const Tensor x = Gauss({64}), a = Mapped(x, TanhGelu);
  subject.blobs = {{"x", x}, {"a", a}, {"y", Mapped(a, [](double v) { return std::tanh(v); })}};
  const RunReport report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  ASSERT_EQ(report.first_wrong, 0);
  EXPECT_EQ(report.layers[0].cause, "computed as tanh-GELU; the graph says erf-GELU");
  EXPECT_EQ(report.layers[1].verdict, Verdict::kAligned);
}

TEST(Alternatives, AStaleTensorIsNamed) {
  const Graph graph = GraphOf({MakeLayer(OpKind::kSigmoid, "s", {"x"}, {"a"}),
                               MakeLayer(OpKind::kTanh, "t", {"a"}, {"b"}), MakeLayer(OpKind::kExp, "e", {"b"}, {"y"})},
                              {64});
  Stored subject;
  const Tensor x = Gauss({64}), a = Mapped(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  subject.blobs = {{"x", x}, {"a", a}, {"b", Mapped(a, [](double v) { return std::tanh(v); })}, {"y", a}};
  const RunReport report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  ASSERT_EQ(report.first_wrong, 2);
  EXPECT_NE(report.layers[2].reason.find("it equals the earlier tensor 'a' bit for bit"), std::string::npos)
      << report.layers[2].reason;
}

}  // namespace
}  // namespace plumb
