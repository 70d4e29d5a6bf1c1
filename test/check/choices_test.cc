// SPDX-License-Identifier: Apache-2.0
// What steps inside of a network choose, and what brought each choice that is not the reference's
// (check/walk/choices.h): a small mixture of experts with two routers, by ArgMax and by TopK, in whose first router two
// experts are equal but for the last bits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "check/numbers/replay.h"
#include "check/numbers/stored_half.h"
#include "check/planted_fault.h"
#include "check/report/util.h"
#include "check/subject/subject_judge.h"
#include "op/top_k.h"
#include "plumb/plumb.h"
#include "reference/core/reference_op.h"
#include "util/stored_blobs.h"

namespace plumb {
namespace {

constexpr int64_t kTokens = 256, kWidth = 16, kExperts = 8;

Tensor RandomValues(const Shape& shape, double scale, unsigned seed) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(normal(random));
  return tensor;
}

// Expert 1 wants what expert 0 wants, but for one weight, by `apart`.
Tensor RouterWeights(unsigned seed, double apart) {
  Tensor weights = RandomValues({kExperts, kWidth}, 0.25, seed);
  float* w = weights.data<float>();
  for (int64_t i = 0; i < kWidth; ++i) w[kWidth + i] = w[i];
  w[kWidth] += static_cast<float>(apart);
  return weights;
}

Graph Mixture(double apart = 1e-7) {
  const std::string router = "num_output=8 axis=1 has_bias=0 transpose=0";
  GraphBuilder builder("mixture");
  builder.Input("x", {kTokens, kWidth});
  builder.Constant("experts_0", RandomValues({kExperts, kWidth, kWidth}, 0.25, 3));
  builder.Constant("experts_1", RandomValues({kExperts, kWidth, kWidth}, 0.25, 4));
  builder.Add("InnerProduct", {"x"}, {"router_0"}, router, {{"weight", RouterWeights(5, apart)}});
  builder.Add("ArgMaxOrMin", {"router_0"}, {"pick_0"}, "axis=1 keep_dims=0");
  builder.Add("Gather", {"experts_0", "pick_0"}, {"expert_0"}, "axis=0 indices_in_resource=0");
  builder.Add("Reshape", {"x"}, {"rows_0"}, "num_axes=2 shape=[256,1,16]");
  builder.Add("MatMul", {"rows_0", "expert_0"}, {"up_0"});
  builder.Add("Reshape", {"up_0"}, {"flat_0"}, "num_axes=3 shape=[256,16]");
  builder.Add("Tanh", {"flat_0"}, {"act_0"});
  builder.Add("Add", {"act_0", "x"}, {"h"});
  builder.Add("InnerProduct", {"h"}, {"router_1"}, router, {{"weight", RandomValues({kExperts, kWidth}, 0.25, 6)}});
  builder.Add("TopK", {"router_1"}, {"best_1", "pick_1"}, "axis=1 k=2");
  builder.Add("Gather", {"experts_1", "pick_1"}, {"expert_1"}, "axis=0 indices_in_resource=0");
  builder.Add("Reshape", {"h"}, {"rows_1"}, "num_axes=2 shape=[256,1,1,16]");
  builder.Add("MatMul", {"rows_1", "expert_1"}, {"up_1"});
  builder.Add("Reshape", {"up_1"}, {"flat_1"}, "num_axes=4 shape=[256,2,16]");
  builder.Add("Reshape", {"best_1"}, {"gate_1"}, "num_axes=2 shape=[256,2,1]");
  builder.Add("Mul", {"flat_1", "gate_1"}, {"gated_1"});
  builder.Add("ReduceSum", {"gated_1"}, {"y"}, "axes=[1] keep_dims=0");
  builder.Output("y");
  const auto graph = builder.Build();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.value();
}

Tensor Rounded(DType to, const Tensor& value) {
  return to == DType::kF32 || value.dtype() != DType::kF32 ? value : RoundedTo(to, value).value();
}

// What a runtime computes that stores every float so, with weights as the graph has them, and whose products round
// their operands.
Stored Computed(const Graph& graph, DType stored, DType operands = DType::kF32) {
  const BlobTable infos = InferShapes(graph).value();
  Stored subject;
  subject.blobs["x"] = Rounded(stored, RandomValues({kTokens, kWidth}, 1, 7));
  for (const Layer& original : graph.layers) {
    Layer layer = original;
    const DType read = IsProduct(layer) && operands != DType::kF32 ? operands : stored;
    for (auto& [slot, weight] : layer.resources) weight = Rounded(read, weight);
    std::vector<Tensor> inputs, outputs;
    for (const std::string& input : layer.inputs) {
      const auto constant = graph.constants.find(input);
      inputs.push_back(Rounded(read, constant == graph.constants.end() ? subject.blobs.at(input) : constant->second));
    }
    ReferenceArgs args{layer, {}, {}};
    for (const Tensor& input : inputs) args.inputs.push_back(&input);
    for (const std::string& output : layer.outputs)
      outputs.push_back(Tensor::Create(infos.at(output).dtype, infos.at(output).shape).value());
    for (Tensor& output : outputs) args.outputs.push_back(&output);
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok()) << layer.name;
    for (size_t i = 0; i < outputs.size(); ++i) subject.blobs[layer.outputs[i]] = Rounded(stored, outputs[i]);
  }
  return subject;
}

RunReport Judged(const Graph& graph, const Stored& subject, SubjectArithmetic arithmetic = SubjectArithmetic::kFp32) {
  SubjectOptions options;
  options.check.arithmetic = arithmetic;
  return CheckSubjectBlobs(graph, subject, {{"x", subject.blobs.at("x")}}, options).value();
}

Layer* LayerNamed(Graph* graph, const std::string& name) {
  for (Layer& layer : graph->layers) {
    if (layer.name == name) return &layer;
  }
  return nullptr;
}

void Scale(Tensor* tensor, float factor) {
  *tensor = tensor->Clone().value();
  for (int64_t i = 0; i < tensor->NumElements(); ++i) tensor->data<float>()[i] *= i % 3 == 0 ? factor : 1;
}

int64_t BadlyExplained(const ChoiceReport& choice) {
  int64_t told = choice.by_rounding + choice.following + choice.unexplained;
  for (const ChoiceCause& cause : choice.layers) told += cause.choices;
  return choice.unexplained + std::abs(choice.changed - told);
}

// The name of the layer that brought most of a router's changed choices, or "".
std::string GuiltyOf(const RunReport& run, const ChoiceReport& choice) {
  return choice.layers.empty() ? "" : choice.layers[0].step.name;
}

TEST(Choices, RoundingExplainsTiesAndWhatFollowsFromThem) {
  const Graph graph = Mixture();
  const RunReport run = Judged(graph, Computed(graph, DType::kF32));
  EXPECT_EQ(run.Count(Verdict::kWrong), 0);
  ASSERT_EQ(run.choices.size(), 2u);
  const ChoiceReport &first = run.choices[0], &second = run.choices[1];
  EXPECT_EQ(first.choices, kTokens);
  EXPECT_GT(first.changed, 2) << "two experts are as good as the same";
  EXPECT_EQ(first.by_rounding, first.changed);
  EXPECT_LE(first.margin, first.reach);
  EXPECT_LT(first.reach, 1e-4) << "f32 moves a score of 1 by no more";
  EXPECT_GT(second.changed, 0);
  EXPECT_EQ(second.following, second.changed) << "behind another expert the second router sees other tokens";
  EXPECT_NE(ChoiceSentence(run, first).find("by rounding (margin"), std::string::npos) << ChoiceSentence(run, first);
}

TEST(Choices, EqualChoicesSayNothing) {
  const Graph graph = Mixture(0.5);
  const RunReport run = Judged(graph, Computed(graph, DType::kF32));
  for (const ChoiceReport& choice : run.choices) {
    EXPECT_EQ(choice.changed, 0);
    EXPECT_EQ(ChoiceSentence(run, choice), "");
  }
}

TEST(Choices, HalfPrecisionIsNoFault) {
  const Graph graph = Mixture(1e-3);
  for (const auto& [stored, arithmetic] :
       {std::pair(DType::kF16, SubjectArithmetic::kFp16), std::pair(DType::kBF16, SubjectArithmetic::kBf16)}) {
    const RunReport run = Judged(graph, Computed(graph, stored), arithmetic);
    EXPECT_EQ(run.Count(Verdict::kWrong), 0) << DTypeName(stored);
    ASSERT_EQ(run.choices.size(), 2u);
    EXPECT_GT(run.choices[0].changed, 0) << DTypeName(stored);
    for (const ChoiceReport& choice : run.choices) {
      EXPECT_EQ(BadlyExplained(choice), 0) << ChoiceSentence(run, choice);
      EXPECT_TRUE(choice.layers.empty()) << ChoiceSentence(run, choice);
    }
  }
}

// Layers that are wrong in f32 only are to blame no more once the arithmetic is found.
TEST(Choices, AnotherArithmeticIsNoFault) {
  const Graph graph = Mixture();
  const Stored subject = Computed(graph, DType::kF32, DType::kBF16);
  const std::map<std::string, Tensor> inputs = {{"x", subject.blobs.at("x")}};
  SubjectJudge judge(graph, subject, inputs);
  SubjectOptions options;
  const auto is_wrong = [](const LayerReport& layer) { return layer.verdict == Verdict::kWrong; };
  RunReport run = judge.All(options).value();
  const SomeSteps wrong = StepsThat(run, is_wrong);
  EXPECT_GE(wrong.size(), 2u);
  EXPECT_FALSE(run.choices[1].layers.empty());
  EXPECT_FALSE(run.outputs[0].effect.layers.empty());
  options.check.arithmetic = SubjectArithmetic::kBf16Products;
  run = judge.Again(options, std::move(run), wrong).value();
  EXPECT_EQ(run.Count(Verdict::kWrong), 0);
  EXPECT_NEAR(run.outputs[0].effect.others, 1, 1e-9);
  EXPECT_TRUE(EffectSentences(run, run.outputs[0]).empty());
  for (const ChoiceReport& choice : run.choices) {
    EXPECT_TRUE(choice.layers.empty());
    EXPECT_EQ(choice.changed, choice.by_rounding + choice.following);
  }
  SubjectOptions finds;
  finds.check.find_products = true;  // in one pass, whose verdicts wait for the last layer
  const RunReport found = judge.All(finds).value();
  EXPECT_EQ(found.Count(Verdict::kWrong), 0);
  EXPECT_EQ(found.found_arithmetic, SubjectArithmetic::kBf16Products);
  for (const ChoiceReport& choice : found.choices)
    EXPECT_EQ(BadlyExplained(choice) + static_cast<int64_t>(choice.layers.size()), 0) << ChoiceSentence(found, choice);
}

struct Planted {
  std::string layer;
  size_t router;  // the first that sees it
  std::function<void(Layer* layer)> spoil;
};

std::vector<Planted> Faults() {
  const auto scaled = [](Layer* layer) { Scale(&layer->resources["weight"], 1.5f); };
  const auto sigmoid = [](Layer* layer) {
    layer->kind = OpKind::kSigmoid;
    layer->param = GetOp(OpKind::kSigmoid).make_param();
  };
  const auto smallest = [](Layer* layer) {
    auto param = std::make_shared<TopKParam>(ParamOf<TopKParam>(*layer));
    param->largest = false;
    layer->param = param;
  };
  return {{"router_0", 0, scaled}, {"router_1", 1, scaled}, {"act_0", 1, sigmoid}, {"best_1", 1, smallest}};
}

TEST(Choices, ThePlantedLayerIsNamed) {
  const Graph graph = Mixture(0.5);
  for (const Planted& fault : Faults()) {
    Graph faulty = graph;
    fault.spoil(LayerNamed(&faulty, fault.layer));
    const RunReport run = Judged(graph, Computed(faulty, DType::kF32));
    ASSERT_EQ(run.choices.size(), 2u);
    EXPECT_GT(run.choices[fault.router].changed, 10) << fault.layer;
    for (const ChoiceReport& choice : run.choices) {
      EXPECT_EQ(BadlyExplained(choice), 0) << ChoiceSentence(run, choice);
      EXPECT_EQ(GuiltyOf(run, choice), choice.changed == 0 ? "" : fault.layer) << ChoiceSentence(run, choice);
    }
  }
}

// Two wrong layers and ties: each choice is charged to what brought it.
TEST(Choices, SeveralReasonsAreToldApart) {
  const Graph graph = Mixture();
  Graph faulty = graph;
  const std::vector<Planted> faults = Faults();
  for (const size_t i : {1u, 2u}) faults[i].spoil(LayerNamed(&faulty, faults[i].layer));
  const RunReport run = Judged(graph, Computed(faulty, DType::kF32));
  EXPECT_EQ(run.choices[0].by_rounding, run.choices[0].changed) << "both lie behind the first router";
  EXPECT_EQ(run.choices[1].layers.size(), 2u) << ChoiceSentence(run, run.choices[1]);
  EXPECT_EQ(BadlyExplained(run.choices[1]), 0) << ChoiceSentence(run, run.choices[1]);
  CheckResult result;
  result.runs = {run};
  const auto json = nlohmann::json::parse(FormatJson(result))["runs"][0]["choices"][1];
  EXPECT_EQ(json["name"], "best_1");
  EXPECT_EQ(json["changed"], run.choices[1].changed);
  EXPECT_EQ(json["layers"].size(), 2u);
  EXPECT_NE(FormatText({}, run, {}).find("choices 'best_1' (TopK): "), std::string::npos);
}

RunReport OnDevice(const std::string& name, const Graph& model, Precision precision, const PlantedFault* fault) {
  const std::shared_ptr<Device> device = OpenDevice(name).value();
  const auto graph = std::make_shared<const Graph>(model);
  if (fault != nullptr) Plant(*fault, *graph, device.get());
  NetworkOptions options;
  options.precision = precision;
  auto network = Network::Create(graph, device, options).value();
  const Tensor x = RandomValues({kTokens, kWidth}, 1, 7);
  Checker checker;
  EXPECT_TRUE(checker.Attach(network.get(), {{"x", x}}).ok());
  EXPECT_TRUE(network->SetInput("x", x).ok());
  EXPECT_TRUE(network->Forward().ok());
  return checker.Finish().value();
}

TEST(Choices, OnDevices) {
  for (const char* name : {"NAIVE", "X86", "ARM", "OPENCL"}) {
    if (!OpenDevice(name).ok()) continue;
    for (const Precision precision : {Precision::kHigh, Precision::kNormal}) {
      const RunReport run = OnDevice(name, Mixture(precision == Precision::kHigh ? 1e-7 : 1e-3), precision, nullptr);
      EXPECT_EQ(run.Count(Verdict::kWrong), 0) << name;
      for (const ChoiceReport& choice : run.choices)
        EXPECT_EQ(BadlyExplained(choice) + static_cast<int64_t>(choice.layers.size()), 0)
            << name << " " << PrecisionName(precision) << " " << ChoiceSentence(run, choice);
    }
    PlantedFault fault;
    fault.layer = "act_0";
    fault.spoil_output = [](Tensor* output, const Tensor&) { Scale(output, 0.5f); };
    const RunReport run = OnDevice(name, Mixture(0.5), Precision::kHigh, &fault);
    ASSERT_EQ(run.choices.size(), 2u);
    EXPECT_GT(run.choices[1].changed, 10) << name;
    EXPECT_EQ(GuiltyOf(run, run.choices[1]), run.layers[static_cast<size_t>(run.first_wrong)].step.name) << name;
    EXPECT_EQ(BadlyExplained(run.choices[1]), 0) << name << ChoiceSentence(run, run.choices[1]);
  }
}

}  // namespace
}  // namespace plumb
