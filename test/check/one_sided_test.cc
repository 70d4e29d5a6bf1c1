// SPDX-License-Identifier: Apache-2.0
// Stores that round to one side (truncation, floor, half away ...) are named, in every format, and wrong but for IEEE
// 754's half away; their healthy twins raise nothing.
#include "check/judge/one_sided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

#include "check/numbers/stored_half.h"
#include "op/convolution.h"
#include "op/pooling.h"
#include "op/softmax.h"
#include "plumb/check.h"
#include "plumb/subject.h"
#include "util/int8_runtime.h"
#include "util/make_layer.h"
#include "util/stored_blobs.h"

namespace plumb {
namespace {

using Rule = double (*)(double);  // to a whole number

double Nearest(double x) { return std::nearbyint(x); }
double Truncated(double x) { return std::trunc(x); }
double Floor(double x) { return std::floor(x); }
double HalfAway(double x) { return std::round(x); }
double HalfUp(double x) { return std::floor(x + 0.5); }

struct Format {
  SubjectArithmetic arithmetic;
  int bits;  // of the mantissa; 0: a grid of 255 steps
};

constexpr Format kBf16{SubjectArithmetic::kBf16, 8}, kF16{SubjectArithmetic::kFp16, 11},
    kF32{SubjectArithmetic::kFp32, 24}, kGrid{SubjectArithmetic::kInt8, 0};

// Values in f64 as they are stored, in f32.
Tensor StoredBy(Rule rule, const Format& format, const Tensor& exact) {
  Tensor stored = Tensor::Create(DType::kF32, exact.shape()).value();
  double largest = 0;
  for (int64_t i = 0; i < exact.NumElements(); ++i) largest = std::max(largest, std::fabs(exact.ValueAt(i)));
  const double step = std::exp2(std::ceil(std::log2(largest / 127)));
  for (int64_t i = 0; i < exact.NumElements(); ++i) {
    const double y = exact.ValueAt(i);
    const int least = format.bits == 11 ? -14 : -126;  // exponent of the smallest normal value
    const int exponent = y == 0 ? least : std::max(least, std::ilogb(y));
    const double unit = format.bits == 0 ? step : std::exp2(exponent + 1 - format.bits);
    stored.data<float>()[i] = static_cast<float>(rule(y / unit) * unit);
  }
  return stored;
}

Tensor Gauss(const Shape& shape, uint32_t seed, double scale = 1) {
  Tensor tensor = Tensor::Create(DType::kF64, shape).value();
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<double>()[i] = normal(random);
  return tensor;
}

// 3x3, keeps the size.
Layer Conv(const std::string& name, const std::string& in, const std::string& out, int channels, uint32_t seed) {
  Layer conv = MakeLayer(OpKind::kConvolution, name, {in}, {out});
  auto param = std::make_shared<ConvolutionParam>();
  param->group = 1;
  param->in_channels_per_group = param->out_channels = channels;
  param->kernel_h = param->kernel_w = 3;
  param->stride_h = param->stride_w = param->dilation_h = param->dilation_w = 1;
  param->pad_h = param->pad_w = 1;
  param->pad_type = -1;
  conv.param = param;
  conv.resources["weight"] =
      Gauss({channels, channels, 3, 3}, seed, 0.4 / std::sqrt(9.0 * channels)).ConvertedTo(DType::kF32).value();
  return conv;
}

Graph GraphOf(std::vector<Layer> layers, const Shape& input) {
  Graph graph;
  graph.inputs = {{"x", DType::kF32, input}};
  graph.layers = std::move(layers);
  graph.outputs = graph.layers.back().outputs;
  for (size_t i = 0; i < graph.layers.size(); ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

// Blocks of a convolution whose result is added: c1, a1, c2, a2 ...
Graph Residual(int blocks, int channels, int64_t size, uint32_t seed) {
  std::vector<Layer> layers;
  std::string in = "x";
  for (int i = 1; i <= blocks; ++i) {
    const std::string n = std::to_string(i);
    layers.push_back(Conv("conv" + n, in, "c" + n, channels, seed + static_cast<uint32_t>(i)));
    layers.push_back(MakeLayer(OpKind::kAdd, "add" + n, {in, "c" + n}, {"a" + n}));
    in = "a" + n;
  }
  return GraphOf(layers, {1, channels, size, size});
}

// How one runtime stores the result of a layer; null: to nearest.
using RuleOf = std::function<Rule(const Layer&)>;

// Computes in f64 and stores.
Stored RunOf(const Graph& graph, const Format& format, uint32_t seed, const RuleOf& rule_of) {
  Stored subject;
  subject.blobs["x"] = StoredBy(Nearest, format, Gauss(graph.inputs[0].shape, seed));
  const BlobTable infos = InferShapes(graph).value();
  for (const Layer& graphs : graph.layers) {
    Layer layer = graphs;
    const auto weight = layer.resources.find("weight");
    if (weight != layer.resources.end()) {
      weight->second = weight->second.Clone().value();
      if (format.bits == 0) Int8Runtime().RoundWeights(weight->second.shape()[0], &weight->second);
      if (format.bits > 0) weight->second = StoredBy(Nearest, format, weight->second);
    }
    std::vector<Tensor> inputs;
    for (const std::string& input : layer.inputs) {
      const auto constant = graph.constants.find(input);
      const Tensor& value = constant == graph.constants.end() ? subject.blobs.at(input) : constant->second;
      inputs.push_back(value.ConvertedTo(DType::kF64).value());
    }
    Tensor y = Tensor::Create(DType::kF64, infos.at(layer.outputs[0]).shape).value();
    ReferenceArgs args{layer, {}, {&y}};
    for (const Tensor& input : inputs) args.inputs.push_back(&input);
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok()) << layer.name;
    subject.blobs[layer.outputs[0]] = StoredBy(rule_of(graphs), format, y);
  }
  return subject;
}

RunReport JudgeAs(const Graph& graph, const Stored& subject, const Format& format) {
  SubjectOptions options;
  options.check.arithmetic = format.arithmetic;
  return CheckSubjectBlobs(graph, subject, {{"x", subject.blobs.at("x")}}, options).value();
}

RunReport JudgeAll(const Graph& graph, const Format& format, uint32_t seed, Rule rule) {
  return JudgeAs(graph, RunOf(graph, format, seed, [&](const Layer&) { return rule; }), format);
}

bool Begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

TEST(OneSided, EveryStoreOfAResidualStreamIsNamed) {
  const struct {
    Rule rule;
    const char* cause;
  } kRules[] = {{Truncated, "stored by truncation"}, {Floor, "stored by floor"}};
  const Graph graph = Residual(8, 16, 16, 1);
  for (const Format& format : {kBf16, kF16, kGrid}) {
    for (const auto& [rule, cause] : kRules) {
      const RunReport report = JudgeAll(graph, format, 7, rule);
      EXPECT_EQ(report.Count(Verdict::kWrong), 16) << cause << " " << ArithmeticName(format.arithmetic);
      for (const LayerReport& layer : report.layers) {
        EXPECT_TRUE(Begins(layer.cause, cause)) << layer.step.name << " " << layer.reason;
        // A sum of two values lies on a storable one more often than a product does.
        EXPECT_NEAR(layer.outputs[0].bias, -0.4, layer.step.type == "Convolution" ? 0.15 : 0.25);
        EXPECT_LT(layer.outputs[0].bias_z, -6) << layer.step.name;
      }
      std::printf("%-10s %s\n", ArithmeticName(format.arithmetic), report.layers[15].reason.c_str());
    }
  }
}

Layer Average(const std::string& in, const std::string& out, int size) {
  Layer pool = MakeLayer(OpKind::kPooling, "average", {in}, {out});
  auto param = std::make_shared<PoolingParam>();
  param->pool_type = kPoolAverage;
  param->kernel_h = param->kernel_w = param->stride_h = param->stride_w = size;
  pool.param = param;
  return pool;
}

double RootMeanSquare(const Tensor& values) {
  double squares = 0;
  for (int64_t i = 0; i < values.NumElements(); ++i) squares += values.ValueAt(i) * values.ValueAt(i);
  return std::sqrt(squares / static_cast<double>(values.NumElements()));
}

TEST(OneSided, WhatTheStreamLosesIsSaid) {
  const Graph graph = Residual(8, 16, 16, 1);
  const auto rms = [&](Rule rule) {
    return RootMeanSquare(RunOf(graph, kBf16, 7, [&](const Layer&) { return rule; }).blobs.at("a8"));
  };
  const double lost = 100 * (1 - rms(Truncated) / rms(Nearest));
  const RunReport report = JudgeAll(graph, kBf16, 7, Truncated);
  const std::string says = "the rms of network output 'a8' is ";
  double said = 0;
  for (const std::string& note : report.notes) {
    const size_t at = note.find(says);
    if (at != std::string::npos) said = std::stod(note.substr(at + says.size()));
  }
  std::printf("lost %.2f %%, said %.2f %%\n", lost, said);
  EXPECT_GT(lost, 0.5);
  EXPECT_NEAR(said, lost, 0.2);
  EXPECT_TRUE(JudgeAll(graph, kBf16, 7, Nearest).notes.empty());
}

// Sums of values of 16 bits, and means of a grid's, lie halfway between two again and again.
TEST(OneSided, TiesAreNamed) {
  const struct {
    Rule rule;
    const char* cause;
    Verdict verdict;
  } kRules[] = {{HalfAway, "half away from zero", Verdict::kGrey}, {HalfUp, "half up", Verdict::kWrong}};
  const Graph sums = Residual(3, 16, 16, 2);
  const Graph means = GraphOf({Average("x", "y", 2)}, {1, 16, 48, 48});
  for (const auto& [rule, cause, verdict] : kRules) {
    for (const Format& format : {kBf16, kF16}) {
      const RunReport report = JudgeAll(sums, format, 8, rule);
      for (size_t i = 1; i < 6; i += 2) {
        const LayerReport& add = report.layers[i];
        EXPECT_EQ(add.verdict, verdict) << add.step.name << " " << cause << " " << add.outputs[0].bias_z;
        EXPECT_TRUE(Begins(add.cause, cause)) << add.reason;
        EXPECT_EQ(report.layers[i - 1].verdict, Verdict::kAligned) << report.layers[i - 1].reason;
      }
      std::printf("%-5s %s\n", ArithmeticName(format.arithmetic), report.layers[1].reason.c_str());
    }
    const RunReport report = JudgeAll(means, kGrid, 8, rule);
    EXPECT_TRUE(Begins(report.layers[0].cause, cause)) << report.layers[0].reason;
    std::printf("grid  %s\n", report.layers[0].reason.c_str());
  }
}

// An operator that rounds once, in f32.
TEST(OneSided, ATruncatingAdderOfF32IsNamed) {
  const Graph graph = GraphOf({MakeLayer(OpKind::kAdd, "add", {"x", "k"}, {"y"})}, {1, 16, 16, 16});
  Graph with = graph;
  with.constants["k"] = Gauss({1, 16, 16, 16}, 3).ConvertedTo(DType::kF32).value();
  for (const Rule rule : {Truncated, Floor}) {
    const RunReport report = JudgeAll(with, kF32, 9, rule);
    EXPECT_TRUE(Begins(report.layers[0].cause, rule == Truncated ? "stored by truncation" : "stored by floor"))
        << report.layers[0].reason;
  }
  EXPECT_EQ(JudgeAll(with, kF32, 9, Nearest).Count(Verdict::kAligned), 1);
}

TEST(OneSided, OneChannelIsNamed) {
  const Graph graph = Residual(1, 64, 16, 4);
  Stored subject = RunOf(graph, kBf16, 11, [](const Layer&) { return Nearest; });
  const Stored cut = RunOf(graph, kBf16, 11, [](const Layer& l) { return l.name == "conv1" ? Truncated : Nearest; });
  std::copy_n(cut.blobs.at("c1").data<float>() + 7 * 256, 256, subject.blobs.at("c1").data<float>() + 7 * 256);
  const RunReport report = JudgeAs(graph, subject, kBf16);
  EXPECT_EQ(report.first_wrong, 0);
  EXPECT_TRUE(Begins(report.layers[0].cause, "channel 7: stored by truncation")) << report.layers[0].reason;
}

double CutOff(const Format& format, double x) {
  if (x == 0) return 0;
  const double unit = std::exp2(std::max(format.bits == 11 ? -14 : -126, std::ilogb(x)) + 1 - format.bits);
  return std::trunc(x / unit) * unit;
}

// 3x3 convolutions whose every addition is cut off, in `lanes` partial sums; the result is stored to nearest.
Stored Accumulated(const Graph& graph, const Format& format, bool cuts, int64_t lanes) {
  Stored subject;
  subject.blobs["x"] = StoredBy(Nearest, format, Gauss(graph.inputs[0].shape, 5));
  for (const Layer& layer : graph.layers) {
    const Tensor &in = subject.blobs.at(layer.inputs[0]),
                 weight = StoredBy(Nearest, format, layer.resources.at("weight"));
    const int64_t channels = in.shape()[1], size = in.shape()[2];
    Tensor y = Tensor::Create(DType::kF64, in.shape()).value();
    for (int64_t at = 0; at < y.NumElements(); ++at) {
      const int64_t column = at % size, row = at / size % size, o = at / (size * size);
      std::vector<double> sums(static_cast<size_t>(lanes), 0.0);
      for (int64_t k = 0; k < channels * 9; ++k) {
        const int64_t v = row + k % 9 / 3 - 1, h = column + k % 3 - 1;
        const bool inside = v >= 0 && v < size && h >= 0 && h < size;
        const double x = inside ? in.ValueAt((k / 9 * size + v) * size + h) : 0;
        double& sum = sums[static_cast<size_t>(k % lanes)];
        sum += x * weight.ValueAt(o * channels * 9 + k);
        sum = cuts ? CutOff(format, sum) : static_cast<double>(static_cast<float>(sum));
      }
      double total = sums[0];
      for (size_t l = 1; l < sums.size(); ++l) {
        total += sums[l];
        total = cuts ? CutOff(format, total) : static_cast<double>(static_cast<float>(total));
      }
      y.data<double>()[at] = total;
    }
    subject.blobs[layer.outputs[0]] = StoredBy(Nearest, format, y);
  }
  return subject;
}

TEST(OneSided, AccumulatorsThatCutAreNamed) {
  for (const Format& format : {kF32, kF16, kBf16}) {
    for (const int64_t lanes : {1, 8}) {
      std::vector<Layer> layers;
      const int count = lanes == 1 ? 12 : 4;
      for (int i = 0; i < count; ++i) {
        Layer conv = Conv("conv" + std::to_string(i), i == 0 ? "x" : "y" + std::to_string(i - 1),
                          "y" + std::to_string(i), 8, static_cast<uint32_t>(i));
        for (int64_t k = 0; k < conv.resources["weight"].NumElements(); ++k)
          conv.resources["weight"].data<float>()[k] *= 2.5f;
        layers.push_back(conv);
      }
      const Graph graph = GraphOf(layers, {1, 8, 8, 8});
      const RunReport cut = JudgeAs(graph, Accumulated(graph, format, true, lanes), format);
      EXPECT_EQ(cut.Count(Verdict::kWrong), count) << ArithmeticName(format.arithmetic) << " " << lanes;
      for (const LayerReport& layer : cut.layers) {
        EXPECT_NE(layer.cause.find("each addition cut off towards zero"), std::string::npos)
            << layer.step.name << " E " << layer.outputs[0].excess << " " << layer.reason;
      }
      std::printf("%-5s R %.2f %s\n", ArithmeticName(format.arithmetic), cut.layers[0].outputs[0].rms_excess,
                  cut.layers[0].reason.c_str());
      EXPECT_EQ(JudgeAs(graph, Accumulated(graph, format, false, lanes), format).Count(Verdict::kAligned), count);
    }
  }
}

// Networks in which a store to nearest could be taken for another one: half of the values 0, few values, constant and
// nearly constant fields, a factor next to 1, lattices.
std::vector<Graph> HealthyGraphs(uint32_t seed) {
  std::vector<Graph> graphs = {Residual(3, 16, 16, seed), Residual(2, 3, 5, seed), Residual(1, 32, 40, seed)};
  const Shape shape{1, 16, 24, 24};
  for (const OpKind kind : {OpKind::kReLU, OpKind::kSigmoid, OpKind::kTanh, OpKind::kExp, OpKind::kSqrt})
    graphs.push_back(GraphOf({Conv("conv", "x", "c", 16, seed), MakeLayer(kind, "unary", {"c"}, {"y"})}, shape));
  Layer softmax = MakeLayer(OpKind::kSoftmax, "softmax", {"x"}, {"y"});
  softmax.param = std::make_shared<SoftmaxParam>();
  graphs.push_back(GraphOf({softmax}, shape));
  graphs.push_back(GraphOf({Average("x", "y", 2)}, shape));
  graphs.push_back(GraphOf({Average("x", "y", 8)}, shape));
  for (const float factor : {0.9995f, 0.999f, 1.0005f, 0.5f, 0.1f}) {
    Graph scaled = GraphOf({MakeLayer(OpKind::kMul, "mul", {"x", "k"}, {"y"})}, shape);
    scaled.constants["k"] = Tensor::Zeros(DType::kF32, {1}).value();
    scaled.constants["k"].data<float>()[0] = factor;
    graphs.push_back(scaled);
    Graph nearly = GraphOf({MakeLayer(OpKind::kMul, "mul", {"x", "k"}, {"m"}),  // values that differ by a thousandth
                            MakeLayer(OpKind::kAdd, "add", {"m", "one"}, {"y"})},
                           shape);
    nearly.constants["k"] = Tensor::Zeros(DType::kF32, {1}).value();
    nearly.constants["k"].data<float>()[0] = 1e-3f;
    nearly.constants["one"] = Tensor::Zeros(DType::kF32, {1}).value();
    nearly.constants["one"].data<float>()[0] = 1 / (1 + factor);
    graphs.push_back(nearly);
  }
  return graphs;
}

TEST(OneSided, HealthyStoresRaiseNothing) {
  double largest = 0;
  int outputs = 0;
  for (const Format& format : {kBf16, kF16, kF32, kGrid}) {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      for (const Graph& graph : HealthyGraphs(seed)) {
        const RunReport report = JudgeAll(graph, format, seed, Nearest);
        for (const LayerReport& layer : report.layers) {
          ++outputs;
          EXPECT_TRUE(layer.outputs[0].one_sided.empty())
              << ArithmeticName(format.arithmetic) << " " << layer.step.type << " " << layer.reason;
          largest = std::max(largest, std::fabs(layer.outputs[0].bias_z));
        }
      }
    }
  }
  std::printf("%d healthy outputs, largest |z| %.2f\n", outputs, largest);
  EXPECT_GE(outputs, 300);
  EXPECT_LT(largest, 4);
}

}  // namespace
}  // namespace plumb
