// SPDX-License-Identifier: Apache-2.0
// What depends on values: If, network inputs that become constants, indices and weights that come when the network
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

constexpr int kInt64 = 7, kBool = 9;

std::vector<std::string> Types(const Graph& graph) {
  std::vector<std::string> types;
  for (const Layer& layer : graph.layers) types.push_back(layer.type);
  return types;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// y = condition ? first(x) : second(x), a node "if1" whose branches give their tensors the same names.
void AddIf(OnnxModel* m, const std::string& condition, const std::string& first, const std::string& second,
           const std::vector<std::string>& inputs = {"x"}) {
  auto& node = m->Node("If", {condition}, {"y"}, "if1");
  for (const auto& [branch, op] : {std::pair{"then_branch", first}, std::pair{"else_branch", second}}) {
    ::onnx::GraphProto* graph = OnnxModel::SetGraph(&node, branch);
    OnnxModel::Add(graph->add_node(), op, inputs, {"inner"}, "first");
    OnnxModel::Add(graph->add_node(), "Abs", {"inner"}, {"out"}, "second");
    graph->add_output()->set_name("out");
  }
}

Tensor Ints(const std::vector<int64_t>& values, const Shape& shape) {
  Tensor tensor = Tensor::Create(DType::kI64, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

Tensor Floats(const std::vector<float>& values, const Shape& shape) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

Tensor Truth(bool value) {
  Tensor tensor = Tensor::Create(DType::kBool, Shape{}).value();
  tensor.data<bool>()[0] = value;
  return tensor;
}

LoadOptions Bind(const std::string& name, const Tensor& value) {
  LoadOptions options;
  options.input_values[name] = value;
  return options;
}

// The output "y".
Result<Tensor> RunOn(const Graph& graph, const std::map<std::string, Tensor>& inputs, const std::string& device) {
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(std::make_shared<const Graph>(graph), device, {}));
  for (const auto& [name, value] : inputs) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
  PLUMB_RETURN_IF_ERROR(network->Forward());
  return network->GetOutput("y");
}

void ExpectValues(const OnnxModel& m, const std::map<std::string, Tensor>& inputs,
                  const std::vector<double>& expected) {
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const auto y = RunOn(*graph, inputs, device);
    ASSERT_TRUE(y.ok()) << device << ": " << y.status().ToString();
    ASSERT_EQ(y->NumElements(), static_cast<int64_t>(expected.size())) << device;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(y->ValueAt(static_cast<int64_t>(i)), expected[i]) << device << " [" << i << "]";
  }
}

void ExpectRefusal(const Status& status, const std::vector<std::string>& parts) {
  ASSERT_FALSE(status.ok());
  for (const std::string& part : parts)
    EXPECT_TRUE(Has(status.message(), part)) << "'" << part << "' is not in: " << status.message();
}

TEST(OnnxIfTest, AKnownConditionTakesItsBranch) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Relu", "Neg");
  for (const bool taken : {true, false}) {
    const auto graph = m.Import(Bind("c", Truth(taken)));
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    EXPECT_EQ(Types(*graph), (std::vector<std::string>{taken ? "ReLU" : "Neg", "Abs"}));
    EXPECT_EQ(graph->layers[0].name, taken ? "if1/then/first" : "if1/else/first");
    EXPECT_EQ(graph->layers[0].outputs[0], taken ? "if1/then/inner" : "if1/else/inner");
    EXPECT_EQ(graph->layers[1].outputs[0], "y");
  }
}

TEST(OnnxIfTest, AnUnknownConditionComputesBothAndTakesOne) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Log", "Neg");  // Log gives NaN for the branch that is not taken
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Types(*graph), (std::vector<std::string>{"Log", "Abs", "Neg", "Abs", "Where"}));
  EXPECT_EQ(graph->layers[2].outputs[0], "if1/else/inner");
  bool said = false;
  for (const std::string& note : graph->notes)
    said = said ||
           Has(note,
               "If 'if1': its condition is known only when the network runs, so both branches are computed (4 layers)");
  EXPECT_TRUE(said);
  ExpectValues(m, {{"x", Floats({-2, 3}, {2})}, {"c", Truth(false)}}, {2, 3});
  ExpectValues(m, {{"x", Floats({1, 1}, {2})}, {"c", Truth(true)}}, {0, 0});
}

TEST(OnnxIfTest, ASingleValueMayHaveAnotherRankInEachBranch) {
  OnnxModel m;
  m.Input("x", {1}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Relu", "Squeeze");
  ExpectValues(m, {{"x", Floats({-3}, {1})}, {"c", Truth(false)}}, {3});
  ExpectValues(m, {{"x", Floats({-3}, {1})}, {"c", Truth(true)}}, {0});
}

TEST(OnnxIfTest, BranchesOfDifferentShapesAreRefused) {
  OnnxModel m;
  m.Input("x", {2, 1}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Relu", "Transpose");
  ExpectRefusal(m.Import().status(),
                {"node 'if1' (If, opset 17)", "output 'y' is f32 [2,1] in then_branch and f32 [1,2] in else_branch",
                 "LoadOptions::input_values c=VALUES"});
}

TEST(OnnxIfTest, ABranchThatFailsOnBadIndicesIsRefused) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, kBool).Input("i", {2}, kInt64).Output("y");
  AddIf(&m, "c", "Gather", "Gather", {"x", "i"});
  const Status status = m.Import().status();
  ExpectRefusal(
      status, {"node 'if1/then/first' (Gather) fails on indices that do not fit, also in the branch that is not taken",
               "LoadOptions::input_values c=VALUES"});
}

TEST(OnnxIfTest, AnOperatorThatIsMissingInOneBranchIsNamedWithTheIf) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Relu", "Bernoulli");
  ExpectRefusal(m.Import().status(),
                {"node 'if1/else/first' (Bernoulli", "both branches are imported, but not all of their nodes can be",
                 "LoadOptions::input_values c=VALUES"});
  EXPECT_TRUE(m.Import(Bind("c", Truth(true))).ok());
}

TEST(OnnxConstantTest, AListOfValuesTakesTheInputsDtypeAndShape) {
  OnnxModel m;
  m.Input("x", {4}).Input("s", {2}, kInt64).Output("y");
  m.Node("Reshape", {"x", "s"}, {"r"});
  m.Node("Relu", {"r"}, {"y"});
  ExpectRefusal(m.Import().status(), {"shape (input 1) must be known when the model is loaded, but depends on the "
                                      "network input 's': LoadOptions::input_values s=VALUES makes it a constant"});
  const auto graph = m.Import(Bind("s", Floats({2, 2}, {2})));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->inputs.size(), 1u);
  ASSERT_FALSE(graph->notes.empty());
  EXPECT_EQ(graph->notes[0], "network input 's' is a constant, i64 [2]: 2, 2");
}

TEST(OnnxConstantTest, AScalarInputTakesOneValue) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Relu", "Neg");
  EXPECT_TRUE(m.Import(Bind("c", Ints({1}, {1}))).ok());
}

TEST(OnnxConstantTest, WhatDoesNotFitIsRefused) {
  OnnxModel m;
  m.Input("x", {4}).Input("s", {2}, kInt64).Input("open", {-1, -1}).Output("y");
  m.Node("Reshape", {"x", "s"}, {"r"});
  m.Node("Add", {"r", "open"}, {"y"});
  ExpectRefusal(m.Import(Bind("s", Floats({2, 1.5f}, {2}))).status(),
                {"network input 's'", "a constant of int64 is expected, found the value 1.5"});
  ExpectRefusal(m.Import(Bind("s", Ints({2, 2, 1}, {3}))).status(),
                {"network input 's'", "a constant of shape [2] is expected, found [3]"});
  ExpectRefusal(
      m.Import(Bind("open", Ints({1, 1}, {2}))).status(),
      {"network input 'open'",
       "a constant of shape [N,N] is expected, found [2]; say its shape with LoadOptions::input_shapes open=1,1"});
  OnnxModel narrow;
  narrow.Input("x", {1}, 2).Output("y");
  narrow.Node("Identity", {"x"}, {"y"});
  ExpectRefusal(narrow.Import(Bind("x", Ints({300}, {1}))).status(),
                {"a constant of uint8 is expected, found the value 300"});
  LoadOptions several = Bind("nobody", Ints({1}, {1}));
  several.input_shapes["open"] = Shape{2, 2};
  ExpectRefusal(m.Import(several).status(),
                {"a constant is given for 'nobody', but the network inputs are 'open', 's', 'x'"});
}

TEST(OnnxRandomTest, TheOutputOfARandomOperatorIsANetworkInput) {
  OnnxModel m;
  m.Input("x", {2, 3}).Output("y");
  m.Node("RandomNormalLike", {"x"}, {"noise"});
  m.Node("Add", {"x", "noise"}, {"y"});
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Types(*graph), (std::vector<std::string>{"Add"}));
  ASSERT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(graph->inputs[1].name, "noise");
  EXPECT_EQ(graph->inputs[1].shape, Shape({2, 3}));
  EXPECT_TRUE(std::any_of(graph->notes.begin(), graph->notes.end(), [](const std::string& note) {
    return Has(note, "AL11: node 'noise' (RandomNormalLike") && Has(note, "-i noise=FILE");
  }));
  const Tensor x = Floats({1, 2, 3, 4, 5, 6}, {2, 3}), noise = Floats({6, 5, 4, 3, 2, 1}, {2, 3});
  ExpectValues(m, {{"x", x}, {"noise", noise}}, {7, 7, 7, 7, 7, 7});
}

TEST(OnnxRandomTest, ShapesAndTypesFollowTheAttributes) {
  OnnxModel m;
  m.Input("x", {2, 5}).Output("a").Output("b");
  auto& multinomial = m.Node("Multinomial", {"x"}, {"drawn"});
  OnnxModel::SetInt(&multinomial, "sample_size", 3);
  auto& uniform = m.Node("RandomUniform", {}, {"uniform"});
  OnnxModel::SetInts(&uniform, "shape", {4, 1});
  m.Node("Neg", {"drawn"}, {"a"});
  m.Node("Neg", {"uniform"}, {"b"});
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  std::map<std::string, GraphInput> inputs;
  for (const GraphInput& input : graph->inputs) inputs[input.name] = input;
  EXPECT_EQ(inputs.at("drawn").shape, Shape({2, 3}));
  EXPECT_EQ(inputs.at("drawn").dtype, DType::kI32);
  EXPECT_EQ(inputs.at("uniform").shape, Shape({4, 1}));
  EXPECT_EQ(inputs.at("uniform").dtype, DType::kF32);
}

TEST(OnnxRandomTest, InsideABranchIsRefused) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, kBool).Output("y");
  AddIf(&m, "c", "Relu", "RandomNormalLike");
  ExpectRefusal(m.Import(Bind("c", Truth(false))).status(),
                {"RandomNormalLike", "random values inside a loop, a branch"});
}

TEST(OnnxRunTimeIndicesTest, ScatterElementsAddsWhereTheBlobSays) {
  OnnxModel m;
  m.Input("x", {2, 3}).Input("i", {2, 1}, kInt64).Input("u", {2, 1}).Output("y");
  auto& node = m.Node("ScatterElements", {"x", "i", "u"}, {"y"}, "put");
  OnnxModel::SetInt(&node, "axis", 1);
  const std::map<std::string, Tensor> inputs = {
      {"x", Floats({0, 1, 2, 3, 4, 5}, {2, 3})}, {"i", Ints({2, -3}, {2, 1})}, {"u", Floats({8, 9}, {2, 1})}};
  ExpectValues(m, inputs, {0, 1, 8, 9, 4, 5});
}

TEST(OnnxRunTimeIndicesTest, ScatterNDWritesSlices) {
  OnnxModel m;
  m.Input("x", {3, 2}).Input("i", {1, 1}, kInt64).Input("u", {1, 2}).Output("y");
  m.Node("ScatterND", {"x", "i", "u"}, {"y"}, "put");
  ExpectValues(m, {{"x", Floats({0, 1, 2, 3, 4, 5}, {3, 2})}, {"i", Ints({1}, {1, 1})}, {"u", Floats({8, 9}, {1, 2})}},
               {0, 1, 8, 9, 4, 5});
}

TEST(OnnxRunTimeIndicesTest, ReverseSequenceTakesLengths) {
  OnnxModel m;
  m.Input("x", {2, 3}).Input("n", {2}, kInt64).Output("y");
  auto& node = m.Node("ReverseSequence", {"x", "n"}, {"y"}, "turn");
  OnnxModel::SetInt(&node, "batch_axis", 0);
  OnnxModel::SetInt(&node, "time_axis", 1);
  ExpectValues(m, {{"x", Floats({0, 1, 2, 3, 4, 5}, {2, 3})}, {"n", Ints({3, 2}, {2})}}, {2, 1, 0, 4, 3, 5});
}

TEST(OnnxRunTimeIndicesTest, CumSumTakesItsAxisAndTriluItsDiagonal) {
  OnnxModel sum;
  sum.Input("x", {2, 2}).Input("a", {}, kInt64).Output("y");
  sum.Node("CumSum", {"x", "a"}, {"y"}, "sum");
  ExpectValues(sum, {{"x", Floats({1, 2, 3, 4}, {2, 2})}, {"a", Ints({0}, {})}}, {1, 2, 4, 6});
  OnnxModel triangle;
  triangle.Input("x", {2, 2}).Input("k", {}, kInt64).Output("y");
  triangle.Node("Trilu", {"x", "k"}, {"y"}, "triangle");
  ExpectValues(triangle, {{"x", Floats({1, 2, 3, 4}, {2, 2})}, {"k", Ints({1}, {})}}, {0, 2, 0, 0});
}

TEST(OnnxRunTimeIndicesTest, AManyElementTopKIsOneLayer) {
  OnnxModel m;
  m.Input("x", {400}).Output("y");
  m.Ints("k", {1}, {301});
  m.Node("TopK", {"x", "k"}, {"y", "at"}, "top");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Types(*graph), std::vector<std::string>{"PlumbTopK"});
  std::vector<float> rising(400);
  std::vector<double> expected(301);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<float>(i);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<double>(399 - i);
  ExpectValues(m, {{"x", Floats(rising, {400})}}, expected);
}

TEST(OnnxRunTimeIndicesTest, AnIndexOutsideIsOneErrorThatNamesTheLayer) {
  OnnxModel m;
  m.Input("x", {2, 3}).Input("i", {2, 1}, kInt64).Input("u", {2, 1}).Output("y");
  m.Node("ScatterElements", {"x", "i", "u"}, {"y"}, "put");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const auto y = RunOn(
        *graph, {{"x", Floats({0, 1, 2, 3, 4, 5}, {2, 3})}, {"i", Ints({0, 7}, {2, 1})}, {"u", Floats({8, 9}, {2, 1})}},
        device);
    ExpectRefusal(y.status(), {"layer 0 'put'", "'i'", "index 7"});
  }
}

TEST(OnnxRunTimeWeightsTest, AConvolutionTakesItsWeightsFromABlob) {
  OnnxModel m;
  m.Input("x", {1, 2, 3}).Input("w", {2, 1, 2}).Input("b", {2}).Output("y");
  auto& node = m.Node("Conv", {"x", "w", "b"}, {"y"}, "conv");
  OnnxModel::SetInt(&node, "group", 2);
  OnnxModel::SetInts(&node, "pads", {1, 0});
  ExpectValues(m,
               {{"x", Floats({1, 2, 3, 4, 5, 6}, {1, 2, 3})},
                {"w", Floats({1, 10, 2, 20}, {2, 1, 2})},
                {"b", Floats({0, 5}, {2})}},
               {10, 21, 32, 85, 113, 135});
}

TEST(OnnxRunTimeWeightsTest, AConvolutionOfThreeDimsIsAProduct) {
  OnnxModel m;
  m.Input("x", {1, 1, 2, 1, 2}).Output("y");
  m.Floats("w", {1, 1, 2, 1, 2}, {1, 2, 3, 4});
  m.Node("Conv", {"x", "w"}, {"y"}, "conv");
  ExpectValues(m, {{"x", Floats({1, 10, 100, 1000}, {1, 1, 2, 1, 2})}}, {1 + 20 + 300 + 4000});
}

TEST(OnnxRunTimeWeightsTest, NormalisationsTakeTheirScaleFromABlob) {
  OnnxModel instance;
  instance.Input("x", {1, 2, 2}).Input("s", {2}).Input("b", {2}).Output("y");
  OnnxModel::SetFloat(&instance.Node("InstanceNormalization", {"x", "s", "b"}, {"y"}, "norm"), "epsilon", 0);
  ExpectValues(instance,
               {{"x", Floats({1, 3, 5, 9}, {1, 2, 2})}, {"s", Floats({2, 3}, {2})}, {"b", Floats({0, 1}, {2})}},
               {-2, 2, -2, 4});
  OnnxModel batch;
  batch.Input("x", {1, 2, 1}).Input("s", {2}).Output("y");
  batch.Floats("b", {2}, {1, 2});
  batch.Floats("mean", {2}, {1, 2});
  batch.Floats("variance", {2}, {4, 0.25f});
  OnnxModel::SetFloat(&batch.Node("BatchNormalization", {"x", "s", "b", "mean", "variance"}, {"y"}, "norm"), "epsilon",
                      0);
  ExpectValues(batch, {{"x", Floats({5, 3}, {1, 2, 1})}, {"s", Floats({10, 20}, {2})}}, {21, 42});
}

}  // namespace
}  // namespace plumb
