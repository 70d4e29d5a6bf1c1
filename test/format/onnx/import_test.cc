// SPDX-License-Identifier: Apache-2.0
// What nodes become: names, folding, decomposition, unrolling.
#include <gtest/gtest.h>

#include <cmath>

#include "format/onnx/onnx_model.h"
#include "plumb/align.h"

namespace plumb {
namespace {

// "Type name <inputs> -> <outputs>" per layer.
std::vector<std::string> Lines(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Layer& layer : graph.layers) {
    std::string line = layer.type + " " + layer.name;
    for (const std::string& input : layer.inputs) line += " " + input;
    line += " ->";
    for (const std::string& output : layer.outputs) line += " " + output;
    lines.push_back(line);
  }
  return lines;
}

void ExpectLines(const OnnxModel& model, const std::vector<std::string>& expected) {
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Lines(*graph), expected);
}

TEST(OnnxImportTest, ADecomposedNodesLastLayerHasItsNames) {
  OnnxModel m;
  m.Input("x", {1, 2, 4, 4}).Output("y");
  m.Floats("w", {1, 2, 2, 2}, std::vector<float>(8, 1));
  OnnxModel::SetInts(&m.Node("Conv", {"x", "w"}, {"y"}, "conv"), "pads", {0, 0, 1, 1});
  ExpectLines(m, {"PadV2 conv/PadV2 x -> conv/PadV2", "Convolution conv conv/PadV2 -> y"});
  EXPECT_EQ(m.Import()->layers[0].nodes, std::vector<std::string>{"conv"});
}

TEST(OnnxImportTest, ShapeArithmeticVanishes) {
  OnnxModel m;
  m.Input("x", {2, 3, 4}).Output("y");
  m.Ints("zero", {1}, {0}).set_data_type(7);
  m.Ints("rest", {1}, {-1});
  m.Node("Shape", {"x"}, {"s"});
  m.Node("Gather", {"s", "zero"}, {"n"});
  OnnxModel::SetInt(&m.Node("Concat", {"n", "rest"}, {"d"}), "axis", 0);
  m.Node("Reshape", {"x", "d"}, {"r"}, "flat");
  m.Node("Identity", {"r"}, {"i"});
  m.Node("Dropout", {"i"}, {"o"});
  m.Node("Relu", {"o"}, {"y"}, "relu");
  ExpectLines(m, {"Reshape flat x -> r", "ReLU relu r -> y"});
}

TEST(OnnxImportTest, ConstantFloatsAreFolded) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  m.Floats("a", {2}, {1, 4});
  m.Node("Sqrt", {"a"}, {"root"});
  m.Node("Add", {"x", "root"}, {"y"}, "sum");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Lines(*graph), std::vector<std::string>{"Add sum x -> y"});
  EXPECT_EQ(graph->layers[0].Resource("element")->data<float>()[1], 2);
}

TEST(OnnxImportTest, AConstantOperandBroadcastsAsInOnnx) {
  OnnxModel m;  // TNN would read a bare list of 3 as per channel
  m.Input("x", {1, 3, 5, 3}).Output("y");
  m.Floats("a", {3}, {1, 2, 3});
  m.Node("Add", {"x", "a"}, {"y"});
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->layers[0].Resource("element")->shape(), (Shape{1, 1, 1, 3}));
}

TEST(OnnxImportTest, ALocalFunctionIsInlined) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  m.proto().add_opset_import()->set_domain("my");
  auto* function = m.proto().add_functions();
  function->set_name("F");
  function->set_domain("my");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("slope");
  function->add_opset_import()->set_version(17);
  OnnxModel::Add(function->add_node(), "Neg", {"a"}, {"t"}, "neg");
  auto& elu = OnnxModel::Add(function->add_node(), "Elu", {"t"}, {"b"}, "elu");
  auto* alpha = elu.add_attribute();
  alpha->set_name("alpha");
  alpha->set_type(::onnx::AttributeProto::FLOAT);
  alpha->set_ref_attr_name("slope");
  auto& call = m.Node("F", {"x"}, {"y"}, "call");
  call.set_domain("my");
  auto* slope = call.add_attribute();
  slope->set_name("slope");
  slope->set_type(::onnx::AttributeProto::FLOAT);
  slope->set_f(0.25f);
  ExpectLines(m, {"Neg call/neg x -> call/t", "Elu call/elu call/t -> y"});
}

TEST(OnnxImportTest, AnOutputThatIsAnInputOrAConstantGetsALayer) {
  OnnxModel m;
  m.Input("x", {2}).Output("y").Output("k");
  m.Floats("k0", {1}, {3});
  m.Node("Identity", {"x"}, {"y"});
  m.Node("Identity", {"k0"}, {"k"});
  ExpectLines(m, {"Identity y x -> y", "Identity k k0 -> k"});
}

TEST(OnnxImportTest, ANewerIrVersionAndOpsetAreRead) {
  OnnxModel m(99);
  m.proto().set_ir_version(99);
  m.Input("x", {2}).Output("y");
  m.Node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(m.Import().ok());
}

bool Notes(const Graph& graph, const std::string& words) {
  for (const std::string& note : graph.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(OnnxImportTest, HazardsAreNoted) {
  OnnxModel m;
  m.Input("x", {1, 1, 5, 5}).Output("y");
  m.Floats("w", {1, 1, 2, 2}, {1, 1, 1, 1});
  m.Floats("one", {1}, {1});
  m.Floats("zero", {1}, {0});
  auto& conv = m.Node("Conv", {"x", "w"}, {"c"}, "conv");
  OnnxModel::SetInts(&conv, "pads", {0, 0, 1, 1});
  OnnxModel::SetInts(&conv, "strides", {2, 2});
  m.Node("BatchNormalization", {"c", "one", "zero", "zero", "one"}, {"b"}, "norm");
  auto& pool = m.Node("AveragePool", {"b"}, {"y"}, "pool");
  OnnxModel::SetInts(&pool, "kernel_shape", {3, 3});
  OnnxModel::SetInts(&pool, "pads", {1, 1, 1, 1});
  OnnxModel::SetInt(&pool, "count_include_pad", 1);
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_TRUE(Notes(*graph, "warning AL07: node 'conv'"));
  EXPECT_TRUE(Notes(*graph, "warning AL04: node 'norm'"));
  EXPECT_TRUE(Notes(*graph, "warning AL06: node 'pool'"));
  EXPECT_FALSE(Notes(*graph, "warning AL12"));
  EXPECT_TRUE(Notes(*graph, "decomposed: Conv -> PadV2 + Convolution (1)"));
  EXPECT_TRUE(WeightHazards(*graph).empty());
}

TEST(OnnxImportTest, HazardousWeightsAreCounted) {
  OnnxModel m;
  m.Input("x", {5}).Output("y");
  m.Floats("w", {5}, {NAN, INFINITY, 1e-40f, 1e5f, 65504});
  m.Node("Add", {"x", "w"}, {"y"}, "sum");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const std::vector<std::string> expected = {
      "AL08: layer 0 'sum' (Add): element has 1 NaN", "AL08: layer 0 'sum' (Add): element has 1 infinite values",
      "AL08: layer 0 'sum' (Add): element has 1 subnormal values, which many devices take for 0",
      "AL09: layer 0 'sum' (Add): element has 1 values beyond 65504, which become infinite in fp16"};
  EXPECT_EQ(WeightHazards(*graph), expected);
}

// Exporters write attributes that change nothing: torch's allowzero where no dim is 0, defaults, what only 8-bit floats
// need.
TEST(OnnxImportTest, AnAttributeThatChangesNothingIsNotSaid) {
  constexpr int kFloat = 1, kHalf = 10;
  for (const int stash : {kFloat, kHalf}) {
    OnnxModel m;
    m.Input("x", {2, 3}).Output("y");
    m.Floats("scale", {6}, {1, 1, 1, 1, 1, 1});
    m.Ints("shape", {1}, {6});
    m.Ints("axes", {1}, {0});
    OnnxModel::SetInt(&m.Node("Reshape", {"x", "shape"}, {"r"}, "flat"), "allowzero", 1);
    OnnxModel::SetInt(&m.Node("LayerNormalization", {"r", "scale"}, {"n"}, "norm"), "stash_type", stash);
    auto& sum = m.Node("ReduceSum", {"n", "axes"}, {"s"}, "sum");
    OnnxModel::SetInt(&sum, "noop_with_empty_axes", 1);
    auto& cast = m.Node("Cast", {"s"}, {"y"}, "cast");
    OnnxModel::SetInt(&cast, "to", kFloat);
    OnnxModel::SetInt(&cast, "saturate", 1);
    const auto graph = m.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    EXPECT_EQ(Notes(*graph, "warning AL12"), stash == kHalf);
    EXPECT_EQ(Notes(*graph, "warning AL12: node 'norm' (LayerNormalization, opset 17) has the attribute 'stash_type'"),
              stash == kHalf);
  }
}

TEST(OnnxImportTest, AnAttributeThatNobodyReadsIsSaid) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  OnnxModel::SetInt(&m.Node("Relu", {"x"}, {"y"}, "r"), "leak", 1);
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_TRUE(Notes(*graph, "warning AL12: node 'r'"));
}

}  // namespace
}  // namespace plumb
