// SPDX-License-Identifier: Apache-2.0
// Which kind of int8 weights a subject's products have: of an operator, of a first layer alone, next to a rounding tie.
#include "check/numbers/int8_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/numbers/first_products.h"
#include "check/numbers/weight_formats.h"
#include "plumb/model.h"
#include "util/int8_runtime.h"
#include "util/int8_subject.h"

namespace plumb {
namespace {

using int8_subject::EachWeight;
using int8_subject::Failures;
using int8_subject::Inputs;
using int8_subject::JudgeWith;
using int8_subject::WeightOf;

Graph FaultsNetwork() { return LoadModel(PLUMB_TEST_DATA "/faults/faults.tnnproto").value(); }

size_t Beyond(const RunReport& report) {
  size_t beyond = 0;
  for (const auto& [type, steps] : ProductStepsOf(FaultsNetwork(), report)) beyond += steps.beyond.size();
  return beyond;
}

JudgeLayers JudgeLayersOf(const std::map<std::string, Tensor>& blobs) {
  return [&blobs](const Int8WeightsOf& weights, const std::vector<std::string>& layers) {
    const Graph graph = FaultsNetwork();
    SubjectOptions options;
    options.check.arithmetic = SubjectArithmetic::kInt8;
    options.check.int8_weights = weights;
    options.check.layers = layers;
    return CheckSubjectBlobs(graph, Stored(blobs), Inputs(graph), options);
  };
}

Int8WeightsOf Found(const std::map<std::string, Tensor>& blobs) {
  return FindInt8Weights(FaultsNetwork(), JudgeWith(FaultsNetwork(), blobs, {}), JudgeLayersOf(blobs)).value();
}

TEST(Int8, WeightsOfAnotherKindAreFound) {
  const Graph graph = FaultsNetwork();
  for (const Int8Weights& weights : Int8Choices()) {
    Int8Runtime runtime;
    runtime.per_channel = weights.per_channel;
    runtime.zero_point = weights.zero_point;
    runtime.levels = weights.steps;
    const auto blobs = runtime.Run(graph, Inputs(graph));
    const std::string what = Describe(Int8WeightsOf{{{"", weights}}, {}});
    const Int8WeightsOf found = Found(blobs);
    EXPECT_EQ(Beyond(JudgeWith(FaultsNetwork(), blobs, found)), 0) << what << ", found " << Describe(found);
    std::printf("%s\n   beyond the usual %zu, found %s\n", what.c_str(), Beyond(JudgeWith(FaultsNetwork(), blobs, {})),
                Describe(found).c_str());
    if (found.operators.empty()) continue;
    EXPECT_EQ(found.operators.at("Convolution").steps, weights.steps) << what;
    EXPECT_EQ(found.operators.at("Convolution").per_channel, weights.per_channel) << what;
  }
}

TEST(Int8, OneLayerWithOtherWeightsThanItsLikeStaysWrong) {
  Graph graph = FaultsNetwork();
  Int8Runtime seven;
  seven.levels = 64;
  const RunReport all = JudgeWith(FaultsNetwork(), seven.Run(graph, Inputs(graph)), {});
  const std::string beyond = ProductStepsOf(graph, all).at("Convolution").beyond.at(0);
  for (Layer& layer : graph.layers) {
    if (layer.name == beyond) seven.RoundWeights(WeightOf(&layer)->shape()[0], &layer.resources["weight"]);
  }
  const auto blobs = Int8Runtime().Run(graph, Inputs(graph));
  ASSERT_EQ(Beyond(JudgeWith(FaultsNetwork(), blobs, {})), 1u);
  EXPECT_TRUE(Found(blobs).operators.empty()) << Describe(Found(blobs));
}

std::map<std::string, Tensor> OnGrid(std::map<std::string, Tensor> inputs) {
  for (auto& [name, input] : inputs) input = Int8Runtime().Stored(input, 1);
  return inputs;
}

// Of a layer that was altered; it hands on floats.
Int8Runtime KeepingWeightsOf(const std::string& layer) {
  Int8Runtime runtime;
  runtime.kept = runtime.float_output_of = layer;
  return runtime;
}

// NNCF's default: the first convolution alone, so that pairs do not saturate.
TEST(Int8, AFirstLayerMayHaveWeightsOfHalfOfTheRange) {
  const Graph graph = FaultsNetwork();
  for (const char* name : {"conv1", "dilated"}) {
    Graph altered = graph;
    Int8Runtime seven;
    seven.levels = 63.5;
    for (Layer& layer : altered.layers) {
      if (layer.name == name) seven.RoundWeights(WeightOf(&layer)->shape()[0], &layer.resources["weight"]);
    }
    const auto blobs = KeepingWeightsOf(name).Run(altered, OnGrid(Inputs(graph)));
    const RunReport usual = JudgeWith(FaultsNetwork(), blobs, {});
    EXPECT_EQ(Beyond(usual), 1u) << name;
    const Int8WeightsOf found = FindHalfOfRange(graph, usual, {}, JudgeLayersOf(blobs)).value();
    const bool first = name == std::string("conv1");
    EXPECT_EQ(found.layers.size(), first ? 1u : 0u) << name;
    const RunReport judged = JudgeWith(FaultsNetwork(), blobs, found);
    EXPECT_EQ(Beyond(judged), first ? 0u : 1u) << Failures(judged);
    EXPECT_EQ(judged.layers[0].reason.find("half of their range") != std::string::npos, first);
  }
}

TEST(Int8, AFaultOfTheFirstLayerIsNotExplainedByHalfOfTheRange) {
  const Graph graph = FaultsNetwork();
  for (const double by : {1.002, 1.05}) {
    Graph altered = graph;
    Int8Runtime seven;
    seven.levels = 63.5;
    for (Layer& layer : altered.layers) {
      if (layer.name != "conv1") continue;
      seven.RoundWeights(WeightOf(&layer)->shape()[0], &layer.resources["weight"]);
      EachWeight(&layer, [&](float w, int64_t) { return static_cast<float>(by) * w; });
    }
    const auto blobs = KeepingWeightsOf("conv1").Run(altered, OnGrid(Inputs(graph)));
    EXPECT_TRUE(
        FindHalfOfRange(graph, JudgeWith(FaultsNetwork(), blobs, {}), {}, JudgeLayersOf(blobs)).value().layers.empty())
        << by;
  }
}

// A quotient in f32 puts such a weight on either side.
TEST(Int8, WeightsNextToARoundingTieAreRoundedAsTheValuesSay) {
  Graph graph = FaultsNetwork();
  Layer& conv = graph.layers[0];
  Tensor* weight = WeightOf(&conv);
  const int64_t run = weight->NumElements() / weight->shape()[0];
  float* w = weight->data<float>() + 3 * run;
  const float largest =
      std::fabs(*std::max_element(w, w + run, [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
  float* tied = std::fabs(w[1]) < largest ? w + 1 : w + 2;
  *tied = 46.5f / 127 * largest;
  for (const float to : {46.0f, 47.0f, 48.0f}) {
    Graph altered = graph;
    Tensor* rounded = WeightOf(&altered.layers[0]);
    Int8Runtime().RoundWeights(weight->shape()[0], rounded);
    rounded->data<float>()[tied - weight->data<float>()] = to / 127 * largest;
    SubjectOptions options;
    options.check.arithmetic = SubjectArithmetic::kInt8;
    const auto blobs = KeepingWeightsOf(conv.name).Run(altered, OnGrid(Inputs(graph)));
    const RunReport report = CheckSubjectBlobs(graph, Stored(blobs), Inputs(graph), options).value();
    EXPECT_EQ(report.layers[0].verdict == Verdict::kAligned, to < 48) << to << " " << Failures(report);
  }
}

// As LiteRT did for long.
TEST(Int8, OneOperatorMayHaveWeightsOfAnotherKind) {
  const Graph graph = FaultsNetwork();
  Int8Runtime runtime;
  runtime.levels = 63;
  runtime.tensor_wise = "InnerProduct";
  const auto blobs = runtime.Run(graph, Inputs(graph));
  const Int8WeightsOf found = Found(blobs);
  EXPECT_EQ(Beyond(JudgeWith(FaultsNetwork(), blobs, found)), 0) << Describe(found);
}

}  // namespace
}  // namespace plumb
