// SPDX-License-Identifier: Apache-2.0
// Subjects that their runtime quantised to int8: healthy ones raise nothing, coarse faults are named at their layer.
#include "check/numbers/int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "check/numbers/int8_weights.h"
#include "check/numbers/weight_formats.h"
#include "graph/random_inputs.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/quantize_linear.h"
#include "plumb/model.h"
#include "util/int8_runtime.h"
#include "util/int8_subject.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

using int8_subject::EachWeight;
using int8_subject::Failures;
using int8_subject::ForAll;
using int8_subject::Inputs;
using int8_subject::Judge;
using int8_subject::kPerChannel;
using int8_subject::kPerTensor;
using int8_subject::kUnknown;
using int8_subject::WeightOf;

Graph FaultsNetwork() { return LoadModel(PLUMB_TEST_DATA "/faults/faults.tnnproto").value(); }

Tensor Values(const std::vector<float>& values) {
  Tensor tensor = Tensor::Create(DType::kF32, {static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

TEST(Grid, StepIsFoundFromTheValues) {
  std::vector<float> values;
  for (int q = -90; q < 120; q += 3) values.push_back(0.037f * static_cast<float>(q));
  for (const int q : {1, 118}) values.push_back(0.037f * static_cast<float>(q));
  const Grid grid = FindGrid(Values(values));
  EXPECT_NEAR(grid.step, 0.037, 1e-7);
  EXPECT_TRUE(grid.spans());
  for (const float off : {2e-7f, -0.037f * 90 + 3e-7f}) values.push_back(off);
  EXPECT_NEAR(FindGrid(Values(values)).step, 0.037, 1e-7) << "zero and the lowest value in two ways";
  values.push_back(0.0185f);
  EXPECT_TRUE(FindGrid(Values(values)).none()) << "half a step";
  values.back() = 0.037f * 170;
  EXPECT_TRUE(FindGrid(Values(values)).none()) << "260 steps";
}

TEST(Grid, FewValuesDoNotTell) {
  EXPECT_TRUE(FindGrid(Values({0, 0.5f, 1, 2})).few);
  EXPECT_NEAR(FindGrid(Values({0, 0.5f, 1, 2})).step, 0.5, 1e-9);
  EXPECT_TRUE(FindGrid(Values({0, 0, 0})).few);
  EXPECT_TRUE(FindGrid(Values({0, NAN})).none());
}

struct Case {
  const char* name;
  Int8Runtime runtime;
  Int8Weights weights;
};

std::vector<Case> HealthyRuntimes() {
  std::vector<Case> cases = {{"per channel", {}, kPerChannel}, {"per tensor", {}, kPerTensor},
                             {"asymmetric", {}, kPerChannel},  {"saturating", {}, kPerChannel},
                             {"other scales", {}, kUnknown},   {"float output", {}, kPerChannel}};
  cases[1].runtime.per_channel = false;
  cases[2].runtime.asymmetric = true;
  cases[3].runtime.clip = 0.95;
  cases[4].runtime.stretch = 1.13;
  cases[5].runtime.float_output = true;
  return cases;
}

TEST(Int8, HealthySubjectsRaiseNothing) {
  const Graph graph = FaultsNetwork();
  for (const Case& c : HealthyRuntimes()) {
    const auto blobs = c.runtime.Run(graph, Inputs(graph));
    const RunReport report = Judge(FaultsNetwork(), blobs, c.weights);
    double e = 0, r = 0;
    for (const LayerReport& layer : report.layers) {
      for (const OutputReport& o : layer.outputs) e = std::max(e, o.excess), r = std::max(r, o.rms_excess);
    }
    std::printf("%-14s largest E %.2f, R %.2f\n", c.name, e, r);
    EXPECT_EQ(report.Count(Verdict::kWrong) + report.Count(Verdict::kGrey), 0) << c.name << "\n" << Failures(report);
    EXPECT_GE(report.Count(Verdict::kAligned), 22) << c.name;
    EXPECT_EQ(Judge(FaultsNetwork(), blobs, c.weights, SubjectArithmetic::kFp32).verdict, Verdict::kWrong)
        << "no fp32 run";
  }
}

// conv -> batch normalisation -> relu. `folded`: as the runtime computes it, conv -> relu.
Graph NormedConvolution(bool folded) {
  const auto draw = [](const char* name, const Shape& shape) {
    return RandomInput(name, DType::kF32, shape, 3, {}).value();
  };
  Tensor weight = draw("w", {16, 8, 3, 3}), shift = draw("shift", {16});
  Tensor scale = Tensor::Create(DType::kF32, {16}).value();
  for (int c = 0; c < 16; ++c) scale.data<float>()[c] = 0.05f * static_cast<float>(1 + c * c);
  for (int64_t i = 0; folded && i < weight.NumElements(); ++i) weight.data<float>()[i] *= scale.data<float>()[i / 72];
  auto conv = std::make_shared<ConvolutionParam>();
  conv->in_channels_per_group = 8;
  conv->out_channels = 16;
  conv->kernel_h = conv->kernel_w = 3;
  conv->bias = folded;
  Graph graph;
  graph.inputs = {{"x", DType::kF32, {1, 8, 24, 24}}};
  graph.outputs = {"relu"};
  graph.layers = {MakeLayer(OpKind::kConvolution, "conv", {"x"}, {"conv"})};
  graph.layers[0].param = conv;
  graph.layers[0].resources["weight"] = weight;
  if (folded) {
    graph.layers[0].resources["bias"] = shift;
  } else {
    graph.layers.push_back(MakeLayer(OpKind::kBatchNormCxx, "norm", {"conv"}, {"norm"}));
    graph.layers[1].resources = {{"scale", scale}, {"bias", shift}};
  }
  graph.layers.push_back(MakeLayer(OpKind::kReLU, "relu", {folded ? "conv" : "norm"}, {"relu"}));
  for (size_t i = 0; i < graph.layers.size(); ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

TEST(Int8, BatchNormalisationIsFoldedBeforeWeightsAreRounded) {
  const Graph graph = NormedConvolution(false);
  Int8Runtime runtime;
  runtime.per_channel = false;
  auto blobs = runtime.Run(NormedConvolution(true), Inputs(graph));
  blobs.erase("conv");
  SubjectOptions options;
  options.check.arithmetic = SubjectArithmetic::kInt8;
  options.check.int8_weights = ForAll(kPerTensor);
  const auto judge = [&] { return CheckSubjectBlobs(graph, Stored(blobs), Inputs(graph), options).value(); };
  EXPECT_EQ(judge().verdict, Verdict::kAligned) << Failures(judge());
  ASSERT_EQ(judge().layers.size(), 1u);
  EXPECT_LT(judge().layers[0].Worst()->rms_excess, 1);
}

TEST(Int8, FoldedWeightsLieOnTheGridOfWhatTheyAreFoldedInto) {
  Graph graph = NormedConvolution(false);
  const Tensor before = graph.layers[0].resources["weight"], scale = graph.layers[1].resources["scale"];
  ASSERT_TRUE(RoundWeights(ForAll(kPerTensor), {{true, &graph.layers[1]}, {}, {}}, &graph).ok());
  const auto folded = [&](const Tensor& weight, int64_t i) { return weight.ValueAt(i) * scale.ValueAt(i / 72); };
  double largest = 0;
  for (int64_t i = 0; i < before.NumElements(); ++i) largest = std::max(largest, std::fabs(folded(before, i)));
  for (int64_t i = 0; i < before.NumElements(); ++i) {
    const double steps = folded(graph.layers[0].resources["weight"], i) / (largest / 127);
    ASSERT_NEAR(steps, std::nearbyint(folded(before, i) / (largest / 127)), 1e-4) << i;
  }
}

// u8 inputs, i8 weights, pairs of channels added in 16 bits.
TEST(Int8, PairsThatSaturateAreNamed) {
  Graph graph = NormedConvolution(true);
  Tensor& weight = graph.layers[0].resources["weight"];
  auto inputs = Inputs(graph);
  for (int64_t i = 0; i < weight.NumElements(); ++i) weight.data<float>()[i] = std::cos(static_cast<float>(i * i));
  for (int64_t i = 0; i < inputs["x"].NumElements(); ++i)
    inputs["x"].data<float>()[i] = 1 + 0.5f * std::sin(static_cast<float>(i));  // behind a ReLU
  Int8Runtime runtime;
  runtime.asymmetric = true;
  inputs["x"] = runtime.Stored(inputs["x"], 1);
  const double step = FindGrid(inputs["x"]).step;
  auto blobs = runtime.Run(graph, inputs);
  Layer conv = graph.layers[0];
  conv.resources["weight"] = conv.resources["weight"].Clone().value();
  runtime.RoundWeights(16, &conv.resources["weight"]);
  const std::vector<double> steps = StepsOf(kPerChannel, conv, weight);
  Tensor y = Tensor::Create(DType::kF32, {1, 16, 22, 22}).value();
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    const int64_t o = i / 484, row = i / 22 % 22, column = i % 22;
    double sum = 0;
    for (int64_t k = 0; k < 9 * 4; ++k) {
      double pair = 0;
      for (int64_t c = k / 9 * 2; c < k / 9 * 2 + 2; ++c) {
        const auto x = static_cast<double>(inputs["x"].data<float>()[(c * 24 + row + k % 9 / 3) * 24 + column + k % 3]);
        const auto w = static_cast<double>(conv.resources["weight"].data<float>()[(o * 8 + c) * 9 + k % 9]);
        pair += std::nearbyint(x / step) * std::nearbyint(w / steps[static_cast<size_t>(o)]);
      }
      sum += std::clamp(pair, -32768.0, 32767.0);
    }
    y.data<float>()[i] = std::max(
        0.0f, static_cast<float>(sum * step * steps[static_cast<size_t>(o)]) + conv.resources["bias"].data<float>()[o]);
  }
  blobs["relu"] = runtime.Stored(y, 1);
  blobs.erase("conv");
  SubjectOptions options;
  options.check.arithmetic = SubjectArithmetic::kInt8;
  const RunReport report = CheckSubjectBlobs(graph, Stored(blobs), inputs, options).value();
  EXPECT_EQ(report.verdict, Verdict::kWrong);
  EXPECT_EQ(report.layers[0].cause.rfind("computed with pairs of 8-bit products that saturate at 16 bits", 0), 0u)
      << report.layers[0].cause << report.layers[0].reason;
}

// x (integers) -> DequantizeLinear -> InnerProduct -> QuantizeLinear -> y (integers) as one step. All scales are powers
// of two, so one value in eight is a tie.
Graph QuantisedModel() {
  Tensor quarter = Tensor::Create(DType::kF32, Shape{}).value(), weight = Tensor::Create(DType::kF32, {32, 16}).value();
  quarter.data<float>()[0] = 0.25f;
  for (int64_t i = 0; i < weight.NumElements(); ++i)
    weight.data<float>()[i] = 0.125f * static_cast<float>((i * 37) % 23 - 11);
  auto fc = std::make_shared<InnerProductParam>();
  fc->num_output = 32;
  auto q = std::make_shared<QuantizeLinearParam>();
  q->dtype = "i8";
  Graph graph;
  graph.inputs = {{"x", DType::kI64, {64, 16}}};
  graph.outputs = {"y"};
  graph.constants = {{"s", quarter}};
  graph.layers = {MakeLayer(OpKind::kPlumbDequantizeLinear, "dq", {"x", "s"}, {"f"}),
                  MakeLayer(OpKind::kInnerProduct, "fc", {"f"}, {"z"}),
                  MakeLayer(OpKind::kPlumbQuantizeLinear, "q", {"z", "s"}, {"y"})};
  graph.layers[1].param = fc;
  graph.layers[1].resources["weight"] = weight;
  graph.layers[2].param = q;
  for (size_t i = 0; i < 3; ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

// The runtime's integers: round(exact number of steps, number of the value).
LayerReport JudgeQuantised(const std::function<double(double, int64_t)>& round, int64_t zero = 0) {
  Graph graph = QuantisedModel();
  if (zero != 0) {
    graph.constants["zero"] = Tensor::Create(DType::kI64, Shape{}).value();
    graph.constants["zero"].data<int64_t>()[0] = zero;
    graph.layers[2].inputs.push_back("zero");
  }
  const float* weight = graph.layers[1].resources.at("weight").data<float>();
  Tensor x = Tensor::Create(DType::kI64, {64, 16}).value(), y = Tensor::Create(DType::kI64, {64, 32}).value();
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<int64_t>()[i] = (i * i * 53) % 31 - 15;
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    double steps = 0;
    for (int64_t k = 0; k < 16; ++k)
      steps += static_cast<double>(x.data<int64_t>()[i / 32 * 16 + k]) * static_cast<double>(weight[i % 32 * 16 + k]);
    y.data<int64_t>()[i] = static_cast<int64_t>(std::clamp(round(steps, i), -128.0, 127.0));
  }
  return CheckSubjectBlobs(graph, Stored({{"x", x}, {"y", y}}), {}, {}).value().layers[0];
}

bool IsTie(double steps) { return steps - std::floor(steps) == 0.5 && std::fabs(steps) < 100; }

TEST(Quantised, IntegersMayDifferNextToTiesOnly) {
  EXPECT_EQ(JudgeQuantised([](double v, int64_t) { return std::nearbyint(v); }).verdict, Verdict::kAligned);
  int flips = 0;
  const LayerReport few = JudgeQuantised([&](double v, int64_t) {
    return IsTie(v) && flips++ < 2 ? 2 * std::floor(v) + 1 - std::nearbyint(v) : std::nearbyint(v);
  });
  EXPECT_EQ(few.verdict, Verdict::kAligned) << few.reason;
  bool done = false;
  const LayerReport off = JudgeQuantised([&](double v, int64_t) {
    const bool here = !done && !IsTie(v) && std::fabs(v) < 100;
    done = done || here;
    return std::nearbyint(v) + (here ? 1 : 0);
  });
  EXPECT_EQ(off.verdict, Verdict::kWrong);
  EXPECT_NE(off.reason.find("1 integers differ"), std::string::npos) << off.reason;
}

TEST(Quantised, AnotherRoundingRuleIsWrongAndNamed) {
  const LayerReport away = JudgeQuantised([](double v, int64_t) { return std::round(v); });
  EXPECT_EQ(away.verdict, Verdict::kWrong);
  EXPECT_NE(away.reason.find("other side of a rounding tie"), std::string::npos) << away.reason;
  EXPECT_EQ(away.cause, "computed with rounding half away from zero; the graph says half to even");
  const LayerReport behind = JudgeQuantised([](double v, int64_t) { return std::nearbyint(v + 3); }, 3);
  EXPECT_EQ(behind.verdict, Verdict::kWrong);
  EXPECT_EQ(behind.cause, "computed with rounding behind the zero point, half to even; the graph says before it");
  const LayerReport down = JudgeQuantised([](double v, int64_t) { return std::floor(v); });
  EXPECT_EQ(down.cause, "computed with rounding down; the graph says half to even") << down.reason;
}

// What a fault below 8 half steps of the grid hides is none: coarser than the lists for floats.
using Edit = std::function<void(Layer*)>;
struct Planted {
  const char* what;
  const char* layer;
  Edit edit;
};

void Change(Layer* layer, const std::function<void(ConvolutionParam*)>& f) {
  auto param = std::make_shared<ConvolutionParam>(static_cast<const ConvolutionParam&>(*layer->param));
  f(param.get());
  layer->param = param;
}

void TurnKernel(Layer* layer) {
  const Tensor before = *WeightOf(layer);
  Tensor after = before.Clone().value();
  for (int64_t i = 0; i < before.NumElements(); ++i)
    after.data<float>()[i / 9 * 9 + i % 3 * 3 + i / 3 % 3] = before.data<float>()[i];
  layer->resources["weight"] = after;
}

std::vector<Planted> Faults() {
  return {
      {"bias dropped", "left", [](Layer* l) { l->resources["bias"] = Tensor::Zeros(DType::kF32, {16}).value(); }},
      {"bias of four times the size", "left",
       [](Layer* l) {
         Tensor bias = l->resources["bias"].Clone().value();
         for (int64_t i = 0; i < bias.NumElements(); ++i) bias.data<float>()[i] *= 4;
         l->resources["bias"] = bias;
       }},
      {"x1.05", "pointwise", [](Layer* l) { EachWeight(l, [](float w, int64_t) { return w * 1.05f; }); }},
      {"weights in 4 bits", "dilated",
       [](Layer* l) {
         Int8Runtime four;
         four.levels = 7;
         four.RoundWeights(32, WeightOf(l));
       }},
      {"kernel turned", "conv1", TurnKernel},
      {"dilation lost", "dilated",
       [](Layer* l) {
         Change(l, [](ConvolutionParam* p) {
           p->dilation_h = p->dilation_w = 1, p->pad_h = p->pad_w = 1, p->pad_type = -1;
         });
       }},
      {"activation lost", "wide", [](Layer* l) { Change(l, [](ConvolutionParam* p) { p->activation = 0; }); }},
      {"an output channel zero", "right",
       [](Layer* l) {
         const int64_t run = WeightOf(l)->NumElements() / 32;
         EachWeight(l, [run](float w, int64_t i) { return i < run ? 0 : w; });
       }},
      {"input channels reversed", "conv1",
       [](Layer* l) {
         const Tensor before = *WeightOf(l);
         EachWeight(l,
                    [&](float, int64_t i) { return before.data<float>()[i / 27 * 27 + (2 - i / 9 % 3) * 9 + i % 9]; });
       }},
      {"weights negated", "fc", [](Layer* l) { EachWeight(l, [](float w, int64_t) { return -w; }); }},
  };
}

TEST(Int8, CoarseFaultsAreNamedAtTheirLayer) {
  const Graph graph = FaultsNetwork();
  for (const Case& c : HealthyRuntimes()) {
    for (const Planted& fault : Faults()) {
      Graph faulty = graph;
      for (Layer& layer : faulty.layers) {
        if (layer.name == fault.layer) fault.edit(&layer);
      }
      const RunReport report = Judge(FaultsNetwork(), c.runtime.Run(faulty, Inputs(graph)), c.weights);
      ASSERT_GE(report.first_wrong, 0) << c.name << ": " << fault.what;
      const LayerReport& guilty = report.layers[static_cast<size_t>(report.first_wrong)];
      EXPECT_EQ(guilty.step.name, fault.layer) << c.name << ": " << fault.what << "\n" << Failures(report);
      EXPECT_EQ(report.Count(Verdict::kWrong), 1) << c.name << ": " << fault.what << "\n" << Failures(report);
      std::printf("%-14s %-24s %-10s E %.2f R %.2f slope %.3f\n", c.name, fault.what, fault.layer,
                  guilty.Worst()->excess, guilty.Worst()->rms_excess, guilty.Worst()->slope);
    }
  }
}

TEST(Int8, OutputsOfAnotherScaleAreWrong) {
  const Graph graph = FaultsNetwork();
  auto blobs = Int8Runtime().Run(graph, Inputs(graph));
  for (const char* name : {"relu1", "average", "residual", "max", "tanh"}) {
    auto changed = blobs;
    changed[name] = changed[name].Clone().value();
    for (int64_t i = 0; i < changed[name].NumElements(); ++i) changed[name].data<float>()[i] *= 1.05f;
    const RunReport report = Judge(FaultsNetwork(), changed, kPerChannel);
    ASSERT_GE(report.first_wrong, 0) << name;
    EXPECT_EQ(report.layers[static_cast<size_t>(report.first_wrong)].step.name, name) << Failures(report);
  }
}

TEST(Int8, MissingTensorsBetweenProductsLeaveNoBound) {
  const Graph graph = FaultsNetwork();
  auto blobs = Int8Runtime().Run(graph, Inputs(graph));
  blobs.erase("conv1");
  blobs.erase("relu1");
  const RunReport report = Judge(FaultsNetwork(), blobs, kPerChannel);
  EXPECT_EQ(report.Count(Verdict::kWrong), 0) << Failures(report);
  EXPECT_EQ(report.Count(Verdict::kGrey), 1) << Failures(report);
  EXPECT_NE(report.layers[0].reason.find("int8 values between the layers"), std::string::npos)
      << report.layers[0].reason;
}

TEST(Int8, FewValuesAreWeaklyTested) {
  const Graph graph = FaultsNetwork();
  auto blobs = Int8Runtime().Run(graph, Inputs(graph));
  blobs["prob"] = blobs["prob"].Clone().value();
  for (int64_t i = 0; i < blobs["prob"].NumElements(); ++i) {
    float& p = blobs["prob"].data<float>()[i];
    p = 0.01f * std::nearbyint(p / 0.01f);
  }
  const RunReport report = Judge(FaultsNetwork(), blobs, kPerChannel);
  EXPECT_EQ(report.layers.back().verdict, Verdict::kAligned);
  EXPECT_NE(report.layers.back().reason.find("weakly tested"), std::string::npos) << report.layers.back().reason;
  std::fill_n(blobs["wide"].data<float>(), blobs["wide"].NumElements(), 0.0f);
  EXPECT_EQ(Judge(FaultsNetwork(), blobs, kPerChannel).verdict, Verdict::kWrong) << "zeros";
}

}  // namespace
}  // namespace plumb
