// SPDX-License-Identifier: Apache-2.0
// Functions that fast kernels approximate, by formulas, tables and polynomials, and divisors of few bits, each named as
// planted_causes_test.cc's are. Statistics of other rows, other groups and other modes of sampling layers, too.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "op/affine.h"
#include "op/gather.h"
#include "op/grid_sample.h"
#include "op/inner_product.h"
#include "op/norm.h"
#include "op/pixel_shuffle.h"
#include "op/roi_align.h"
#include "op/softmax.h"
#include "planted_cause.h"

namespace plumb {
namespace {

using Function = std::function<double(double)>;

Graph Simple(OpKind kind) { return GraphOf({MakeLayer(kind, "layer", {"x"}, {"y"})}, {2, 64, 16}); }

PlantedCause Computes(const std::string& name, OpKind kind, const Function& f, const std::string& words,
                      double size = 2.5) {
  PlantedCause plant{name, Simple(kind), Simple(kind), words, false, Gauss({2, 64, 16}, size)};
  plant.spoil = [f, x = plant.x](Tensor* y) { *y = Mapped(x, f); };
  return plant;
}

double BitsOfExp(double x) {
  const auto bits = static_cast<int32_t>(12102203.0f * static_cast<float>(x)) + 1064866805;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

double Cubic(double x) {  // of 2^k e^r
  const double k = std::nearbyint(x / std::log(2)), r = x - k * std::log(2);
  return std::ldexp(1 + r + r * r / 2 + r * r * r / 6, static_cast<int>(k));
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double Parabola(double x) {
  const double b = std::min(std::fabs(x), 1.769) - 1.769;
  return std::copysign(1 - 0.2888 * b * b, x);
}
// Of |x| up to 3 pi / 2: less one turn at most, mirrored at pi / 2 by a pi of 24 bits.
double Folded(float angle) {
  constexpr auto kPi = static_cast<float>(M_PI);
  if (angle > kPi / 2) angle = kPi - angle;
  return std::sin(static_cast<double>(angle < -kPi / 2 ? -kPi - angle : angle));
}
double FoldedSin(double x) {
  const double turns = std::nearbyint(x / (2 * M_PI));
  return Folded(static_cast<float>(x - turns * 2 * M_PI));
}
double FoldedCos(double x) {
  constexpr auto kHalfPi = static_cast<float>(M_PI / 2);
  const double turns = std::nearbyint(x / (2 * M_PI));
  const float angle = kHalfPi - static_cast<float>(x - turns * 2 * M_PI);
  return Folded(angle > static_cast<float>(M_PI) ? static_cast<float>(M_PI) - angle : angle);
}
double Padded(double x) { return std::max(-1.0, std::min(1.0, x * (27 + x * x) / (27 + 9 * x * x))); }

// Entries of f at every 1 / 16 from -8 to 8.
Function Table(const Function& f, bool lines) {
  return [f, lines](double x) {
    const double at = std::min(std::max((x + 8) * 16, 0.0), 256.0);
    if (!lines) return f(std::nearbyint(at) / 16 - 8);
    const double below = std::min(std::floor(at), 255.0);
    return f(below / 16 - 8) + (at - below) * (f((below + 1) / 16 - 8) - f(below / 16 - 8));
  };
}

std::vector<PlantedCause> FunctionPlants() {
  const auto tanh = [](double x) { return std::tanh(x); };
  return {
      Computes("exp by its bits", OpKind::kExp, BitsOfExp, "as exp by its bits (Schraudolph, the least largest error)"),
      Computes("exp by a cubic", OpKind::kExp, Cubic, "as 2^k times a Taylor polynomial of degree 3"),
      Computes(
          "exp as a power", OpKind::kExp, [](double x) { return std::pow(1 + x / 256, 256); }, "as (1 + x / 256)^256",
          0.8),
      Computes(
          "sigmoid of straight pieces", OpKind::kSigmoid,
          [](double x) {
            const double a = std::fabs(x);
            const double y = a >= 5 ? 1 : a >= 2.375 ? a / 32 + 27.0 / 32 : a >= 1 ? a / 8 + 0.625 : a / 4 + 0.5;
            return x < 0 ? 1 - y : y;
          },
          "as sigmoid of four straight pieces (PLAN)"),
      Computes("sigmoid from a table", OpKind::kSigmoid, Table(Logistic, false),
               "as Sigmoid from a table of 256 entries between -8 and 8"),
      Computes("tanh between the entries of a table", OpKind::kTanh, Table(tanh, true),
               "as Tanh from a table of 256 entries between -8 and 8, with straight lines between them"),
      Computes(
          "sigmoid cut off", OpKind::kSigmoid, [](double x) { return x < -5  ? 0
                                                                     : x > 5 ? 1
                                                                             : Logistic(x); },
          "as Sigmoid cut off to its limits from |x| = 5 on"),
      Computes(
          "tanh held", OpKind::kTanh, [](double x) { return std::tanh(std::max(-3.0, std::min(3.0, x))); },
          "as Tanh held from |x| = 3 on"),
      Computes("sin of a folded angle", OpKind::kSin, FoldedSin, "as sin of the angle folded into"),
      Computes("cos of a folded angle", OpKind::kCos, FoldedCos, "as cos of the angle folded into"),
      Computes("tanh by a fraction", OpKind::kTanh, Padded, "as x (27 + x^2) / (27 + 9 x^2) cut off at 1"),
      Computes(
          "sigmoid by a polynomial", OpKind::kSigmoid,
          [](double x) {
            return std::fabs(x) > 4 ? Logistic(x) : 0.5 + 0.2389 * x - 0.0123 * x * x * x + 0.0003 * std::pow(x, 5);
          },
          "as a polynomial of degree 5 for Sigmoid up to |x| = 4"),
      Computes("erf by a parabola", OpKind::kErf, Parabola, "as erf of I-BERT's parabola", 1),
      Computes(
          "erf by three terms", OpKind::kErf,
          [](double x) {
            const double t = 1 / (1 + 0.47047 * std::fabs(x));
            return std::copysign(1 - (0.3480242 * t - 0.0958798 * t * t + 0.7478556 * t * t * t) * std::exp(-x * x), x);
          },
          "as erf by Abramowitz and Stegun 7.1.25", 1),
      Computes(
          "GELU of the parabola", OpKind::kGELU, [](double x) { return 0.5 * x * (1 + Parabola(x / std::sqrt(2.0))); },
          "as GELU of I-BERT's parabola"),
  };
}

Graph SoftmaxGraph() {
  return GraphOf({LayerOf<SoftmaxParam>(OpKind::kSoftmax, [](SoftmaxParam* p) { p->axis = 1; })}, {40, 24});
}

PlantedCause SoftmaxOf(const std::string& name, const Function& exp, const std::string& words) {
  PlantedCause plant{name, SoftmaxGraph(), SoftmaxGraph(), words, false, Gauss({40, 24}, 3)};
  plant.spoil = [exp, x = plant.x](Tensor* y) {
    for (int64_t row = 0; row < 40; ++row) {
      const float* in = x.data<float>() + row * 24;
      const auto largest = static_cast<double>(*std::max_element(in, in + 24));
      double sum = 0;
      for (int i = 0; i < 24; ++i) sum += exp(static_cast<double>(in[i]) - largest);
      for (int i = 0; i < 24; ++i)
        y->data<float>()[row * 24 + i] = static_cast<float>(exp(static_cast<double>(in[i]) - largest) / sum);
    }
  };
  return plant;
}

// A result of so many bits, as tables of reciprocals have them.
double Short(double v, int bits) {
  int exponent;
  const double part = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(part, bits)), exponent - bits);
}

Graph LayerNormGraph() {
  Graph graph = GraphOf(
      {LayerOf<LayerNormParam>(OpKind::kLayerNorm, [](LayerNormParam* p) { p->reduce_dims_size = 1, p->eps = 1e-5f; },
                               {"x", "gamma", "beta"})},
      {1, 24, 32});
  graph.constants = {{"gamma", Gauss({32}, 0.2, 1)}, {"beta", Gauss({32}, 0.5)}};
  return graph;
}

// Each row by the statistics of row `of` (of itself: -1), its root of `bits` bits (0: exact).
PlantedCause NormOf(const std::string& name, int64_t of, int bits, const std::string& words) {
  PlantedCause plant{name, LayerNormGraph(), LayerNormGraph(), words, false, Gauss({1, 24, 32}, 1, 0.3)};
  plant.spoil = [=, x = plant.x, graph = plant.says](Tensor* y) {
    const float *g = graph.constants.at("gamma").data<float>(), *b = graph.constants.at("beta").data<float>();
    for (int64_t row = 0; row < 24; ++row) {
      const float *v = x.data<float>() + row * 32, *s = x.data<float>() + (of < 0 ? row : of) * 32;
      double mean = 0, variance = 0;
      for (int i = 0; i < 32; ++i) mean += static_cast<double>(s[i]) / 32;
      for (int i = 0; i < 32; ++i) variance += std::pow(static_cast<double>(s[i]) - mean, 2) / 32;
      const double inverse = 1 / std::sqrt(variance + 1e-5), used = bits == 0 ? inverse : Short(inverse, bits);
      for (int i = 0; i < 32; ++i)
        y->data<float>()[row * 32 + i] = static_cast<float>(
            (static_cast<double>(v[i]) - mean) * used * static_cast<double>(g[i]) + static_cast<double>(b[i]));
    }
  };
  return plant;
}

Graph Quotient() {
  Graph graph = GraphOf({MakeLayer(OpKind::kDiv, "layer", {"a", "x"}, {"y"})}, {8, 40});
  graph.constants["a"] = Gauss({8, 40}, 1, 3);
  return graph;
}

std::vector<PlantedCause> DivisorPlants() {
  PlantedCause softmax{"a softmax with a short reciprocal", SoftmaxGraph(), SoftmaxGraph(),
                       "divided by a number of 1",          false,          Gauss({40, 24}, 3)};
  softmax.spoil = [](Tensor* y) {
    for (int64_t row = 0; row < 40; ++row) {
      const double sum = 1.37 + 0.11 * static_cast<double>(row), by = Short(1 / sum, 12) * sum;
      for (int i = 0; i < 24; ++i) y->data<float>()[row * 24 + i] *= static_cast<float>(by);
    }
  };
  PlantedCause quotient{"a quotient by a short reciprocal", Quotient(), Quotient(),
                        "divided by a number of 1",         false,      Gauss({8, 40}, 1, 4)};
  quotient.spoil = [x = quotient.x, a = quotient.says.constants.at("a")](Tensor* y) {
    for (int64_t i = 0; i < y->NumElements(); ++i)
      y->data<float>()[i] = static_cast<float>(static_cast<double>(a.data<float>()[i]) *
                                               Short(1 / static_cast<double>(x.data<float>()[i]), 13));
  };
  PlantedCause root = Computes(
      "a root of 14 bits", OpKind::kRsqrt, [](double x) { return Short(1 / std::sqrt(x), 14); },
      "divided by a number of 1");
  root.x = Mapped(root.x, [](double v) { return v * v + 0.1; });
  root.spoil = [x = root.x](Tensor* y) { *y = Mapped(x, [](double v) { return Short(1 / std::sqrt(v), 14); }); };
  return {
      softmax,
      quotient,
      root,
      NormOf("a norm with a short root", -1, 11, "divided by a number of 1"),
      SoftmaxOf("a softmax of exp by its bits", BitsOfExp,
                "with exp as exp by its bits (Schraudolph, the least largest"),
      SoftmaxOf("a softmax of exp by a cubic", Cubic, "with exp as 2^k times a Taylor polynomial of degree 3"),
      SoftmaxOf(
          "a softmax cut off", [](double x) { return x < -5 ? 0 : std::exp(x); }, "with an exp that is 0 below -5")};
}

Graph GroupNormGraph(int groups) {
  return GraphOf(
      {LayerOf<GroupNormParam>(OpKind::kGroupNorm, [=](GroupNormParam* p) { p->group = groups, p->eps = 1e-5f; })},
      {3, 8, 6, 6});
}

PlantedCause FirstStatistics() {
  PlantedCause plant{"statistics of the first batch element",
                     GroupNormGraph(2),
                     GroupNormGraph(2),
                     "with the mean and variance of the first batch element",
                     false,
                     Gauss({3, 8, 6, 6}, 1, 0.4)};
  for (int64_t i = 0; i < plant.x.NumElements(); ++i)
    plant.x.data<float>()[i] *= 1.0f + 0.3f * static_cast<float>(i / 288);
  plant.spoil = [x = plant.x](Tensor* y) {
    for (int64_t row = 0; row < 6; ++row) {
      const float *s = x.data<float>() + row % 2 * 144, *v = x.data<float>() + row * 144;
      double mean = 0, variance = 0;
      for (int i = 0; i < 144; ++i) mean += static_cast<double>(s[i]) / 144;
      for (int i = 0; i < 144; ++i) variance += std::pow(static_cast<double>(s[i]) - mean, 2) / 144;
      for (int i = 0; i < 144; ++i)
        y->data<float>()[row * 144 + i] =
            static_cast<float>((static_cast<double>(v[i]) - mean) / std::sqrt(variance + 1e-5));
    }
  };
  return plant;
}

Graph Sampled(int mode, int pads, bool align) {
  Graph graph = GraphOf(
      {LayerOf<GridSampleParam>(
          OpKind::kGridSample,
          [=](GridSampleParam* p) { p->mode = mode, p->pad_type = pads, p->align_corners = align; }, {"x", "grid"})},
      {1, 3, 9, 7});
  graph.constants["grid"] = Gauss({1, 6, 6, 2}, 0.7);
  return graph;
}

Graph Regions(int mode, int ratio) {
  Graph graph = GraphOf({LayerOf<RoiAlignParam>(OpKind::kRoiAlign,
                                                [=](RoiAlignParam* p) {
                                                  p->mode = mode, p->sampling_ratio = ratio, p->out_h = p->out_w = 3;
                                                  p->spatial_scale = 0.5f;
                                                },
                                                {"x", "rois", "batch"})},
                        {1, 2, 12, 12});
  Tensor rois = Tensor::Create(DType::kF32, {2, 4}).value();
  const float corners[] = {1, 2, 17, 15, 4, 3, 20, 21};
  std::copy_n(corners, 8, rois.data<float>());
  graph.constants = {{"rois", rois}, {"batch", Tensor::Zeros(DType::kI64, {2}).value()}};
  return graph;
}

Graph Shuffled(int mode) {
  return GraphOf(
      {LayerOf<ReorgParam>(OpKind::kReorg, [=](ReorgParam* p) { p->stride = 2, p->forward = 1, p->mode = mode; })},
      {1, 12, 5, 4});
}

// What a batch normalisation is folded into; `change` alters the statistics of a channel.
Graph BatchNorm(const std::function<void(double* gamma, double* beta, double* mean, double* variance, double* epsilon)>&
                    change = nullptr) {
  constexpr int64_t kChannels = 8;
  Layer layer = MakeLayer(OpKind::kBatchNormCxx, "layer", {"x"}, {"y"});
  Tensor scale = Gauss({kChannels}), bias = Gauss({kChannels}), statistics = Gauss({5, kChannels}, 0.2, 0.7);
  for (int64_t i = 0; i < kChannels; ++i) {
    float* s = statistics.data<float>() + i;
    s[3 * kChannels] *= 0.01f * s[3 * kChannels], s[4 * kChannels] = 1e-5f;
    double v[5];
    for (int k = 0; k < 5; ++k) v[k] = static_cast<double>(s[k * kChannels]);
    if (change) change(v, v + 1, v + 2, v + 3, v + 4);
    const double factor = v[0] / std::sqrt(v[3] + v[4]);
    scale.data<float>()[i] = static_cast<float>(factor);
    bias.data<float>()[i] = static_cast<float>(v[1] - v[2] * factor);
  }
  layer.resources = {{"scale", scale}, {"bias", bias}, {kBatchStatistics, statistics}};
  return GraphOf({layer}, {2, kChannels, 5, 5});
}

std::vector<PlantedCause> ModePlants() {
  return {{"another epsilon of a batch norm", BatchNorm(),
           BatchNorm([](double*, double*, double*, double*, double* e) { *e = 1e-3; }),
           "with epsilon 0.001; the graph says 1e-05"},
          {"a batch norm without its mean", BatchNorm(),
           BatchNorm([](double*, double*, double* m, double*, double*) { *m = 0; }), "without the mean"},
          {"a batch norm with a deviation for its variance", BatchNorm(),
           BatchNorm([](double*, double*, double*, double* v, double*) { *v = std::sqrt(*v); }),
           "with the root of the variance in its place"},
          FirstStatistics(),
          NormOf("statistics of the first row", 0, 0, "with the mean and variance of the first row"),
          {"other groups", GroupNormGraph(2), GroupNormGraph(4), "in groups of 2 channels; the graph says 4 each"},
          {"grid aligned", Sampled(2, 0, false), Sampled(2, 0, true), "as linear, zeros, align_corners 1"},
          {"grid with its border", Sampled(2, 0, false), Sampled(2, 2, false), "as linear, border, align_corners 0"},
          {"grid nearest", Sampled(2, 1, false), Sampled(1, 1, false), "as nearest, reflection, align_corners 0"},
          {"regions of two points", Regions(1, 1), Regions(1, 2), "as the average of 2 points"},
          {"regions' maximum", Regions(1, 2), Regions(0, 2), "as the maximum of 2 points"},
          {"depth to space in the other order", Shuffled(0), Shuffled(1), "in the order CRD; the graph says DCR"}};
}

// Softplus in front of a product, of an input beyond exp's range, and so every sum infinite; tanh-GELU for erf-GELU.
std::vector<PlantedCause> HiddenPlants() {
  const auto dense = [](const std::string& input) {
    Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct, [](InnerProductParam* p) { p->num_output = 6; });
    layer.inputs = {input};
    layer.resources = {{"weight", Gauss({6, 32}, 0.3)}};
    return layer;
  };
  const auto behind = [&](OpKind kind) {
    return GraphOf({MakeLayer(kind, "function", {"x"}, {"f"}), dense("f")}, {4, 32});
  };
  const Graph alone = GraphOf({dense("x")}, {4, 32});
  const auto plant = [&](const std::string& name, OpKind kind, const Tensor& x, const Function& f,
                         const std::string& words) {
    PlantedCause planted{name, behind(kind), behind(kind), words, false, x};
    planted.spoil = [alone, x, f](Tensor* y) { *y = ComputedBy(alone, Mapped(x, f)); };
    return planted;
  };
  Tensor large = Gauss({4, 32}, 4).Clone().value();
  for (int64_t row = 0; row < 4; ++row) large.data<float>()[row * 32 + 5 * row] = 120;
  return {plant(
              "an infinite softplus in front of a product", OpKind::kSoftplus, large,
              [](double x) { return x > 88.4 ? INFINITY : std::log1p(std::exp(x)); },
              "with 'function' as log(1 + exp x), which overflows from x = 88.4"),
          plant(
              "tanh GELU in front of a product", OpKind::kGELU, Gauss({4, 32}, 2),
              [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
              "with 'function' as tanh-GELU")};
}

class PlantedApproximations : public testing::TestWithParam<PlantedCause> {};
TEST_P(PlantedApproximations, AreNamedAndNoOthers) { ExpectPlanted(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Functions, PlantedApproximations, testing::ValuesIn(FunctionPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Divisors, PlantedApproximations, testing::ValuesIn(DivisorPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Hidden, PlantedApproximations, testing::ValuesIn(HiddenPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Modes, PlantedApproximations, testing::ValuesIn(ModePlants()), PlantName);

// Factors, offsets and lone values are no approximation and no short divisor.
TEST(PlantedApproximations, OtherFaultsAreNot) {
  const Tensor x = Gauss({2, 64, 16}, 0.4);
  for (const OpKind kind : {OpKind::kTanh, OpKind::kSigmoid, OpKind::kExp, OpKind::kErf}) {
    const Graph graph = Simple(kind);
    const Tensor y = ComputedBy(graph, x);
    EXPECT_EQ(Judge(graph, x, Mapped(y, [](double v) { return 1.001 * v; })).cause, "");
    EXPECT_EQ(Judge(graph, x, Mapped(y, [](double v) { return v + 0.001; })).cause, "");
    Tensor lone = y.Clone().value();
    lone.data<float>()[700] *= 1.5f;
    EXPECT_EQ(Judge(graph, x, lone).cause, "");
  }
  const Graph softmax = SoftmaxGraph();
  const Tensor scores = Gauss({40, 24}, 3), p = ComputedBy(softmax, scores);
  EXPECT_EQ(Judge(softmax, scores, Mapped(p, [](double v) { return 1.001 * v; })).cause.find("divided"),
            std::string::npos);
}

}  // namespace
}  // namespace plumb
