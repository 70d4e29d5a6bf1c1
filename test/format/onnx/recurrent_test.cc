// SPDX-License-Identifier: Apache-2.0
// Recurrent nodes: one layer each, with the node's names; through files and back they compute the same bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "format/onnx/onnx_model.h"
#include "graph/random_inputs.h"
#include "op/recurrent.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

void SetStrings(::onnx::NodeProto* node, const std::string& name, const std::vector<std::string>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute->add_strings(value);
}

void SetString(::onnx::NodeProto* node, const std::string& name, const std::string& value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s(value);
}

void SetFloats(::onnx::NodeProto* node, const std::string& name, const std::vector<float>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute->add_floats(value);
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(0.01f * static_cast<float>(i * 37 % 101) - 0.5f);
  return values;
}

// x [4, 2, 3], hidden size 2, both directions.
OnnxModel Lstm() {
  OnnxModel m;
  m.Input("x", {4, 2, 3}).Input("lengths", {2}, 6).Input("h", {2, 2, 2}).Output("y").Output("c");
  m.Floats("W", {2, 8, 3}, Ramp(48));
  m.Floats("R", {2, 8, 2}, Ramp(32));
  m.Floats("P", {2, 6}, Ramp(12));
  auto& node = m.Node("LSTM", {"x", "W", "R", "", "lengths", "h", "", "P"}, {"y", "", "c"}, "cell");
  SetString(&node, "direction", "bidirectional");
  OnnxModel::SetInt(&node, "hidden_size", 2);
  OnnxModel::SetInt(&node, "input_forget", 1);
  SetStrings(&node, "activations", {"HardSigmoid", "Tanh", "Elu", "Sigmoid", "ScaledTanh", "LeakyRelu"});
  SetFloats(&node, "activation_alpha", {0.3f, 0.7f, 1.5f});
  SetFloats(&node, "activation_beta", {0.4f});
  return m;
}

using Values = std::map<std::string, Tensor>;

Values Forward(const Graph& graph, const std::string& device, const Values& inputs) {
  const auto network = CreateNetwork(std::make_shared<const Graph>(graph), device, {}).value();
  for (const auto& [name, value] : inputs) EXPECT_TRUE(network->SetInput(name, value).ok());
  EXPECT_TRUE(network->Forward().ok());
  Values outputs;
  for (const std::string& name : graph.outputs) outputs[name] = network->GetOutput(name).value();
  return outputs;
}

void ExpectSameAfterFiles(const Graph& graph, const Values& inputs) {
  const std::string prefix = testing::TempDir() + "plumb_recurrent_" + std::to_string(::getpid());
  ASSERT_TRUE(SaveModel(graph, prefix).ok());
  const auto again = LoadModel(prefix + ".tnnproto");
  std::filesystem::remove(prefix + ".tnnproto");
  std::filesystem::remove(prefix + ".tnnmodel");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->layers[0].name, graph.layers[0].name);
  const Values before = Forward(graph, "NAIVE", inputs), after = Forward(*again, "NAIVE", inputs);
  for (const auto& [name, value] : before) {
    EXPECT_EQ(std::memcmp(value.raw(), after.at(name).raw(), value.bytes()), 0) << name;
  }
}

TEST(OnnxRecurrentTest, ANodeIsOneLayerWithItsNames) {
  const auto graph = Lstm().Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->layers.size(), 1u);
  const Layer& layer = graph->layers[0];
  EXPECT_EQ(layer.type, "PlumbLSTM");
  EXPECT_EQ(layer.name, "cell");
  ASSERT_EQ(layer.outputs.size(), 3u);
  EXPECT_EQ(layer.outputs[0], "y");
  EXPECT_EQ(layer.outputs[2], "c");
  const auto& p = ParamOf<RecurrentParam>(layer);
  EXPECT_TRUE(p.has_lengths && p.has_initial_h && p.has_peepholes && p.input_forget && !p.has_bias && !p.has_initial_c);
  EXPECT_EQ(p.direction, "bidirectional");
  EXPECT_EQ(p.activations, "HardSigmoid:0.3:0.4;Tanh;Elu:0.7;Sigmoid;ScaledTanh:1.5:1;LeakyRelu:0.01");
}

TEST(OnnxRecurrentTest, LengthsAreGivenAtRunTime) {
  const Graph graph = Lstm().Import().value();
  Values inputs;
  for (const GraphInput& input : graph.inputs) {
    inputs[input.name] = RandomInput(input.name, input.dtype, input.shape, 1, {}).value();
  }
  int32_t* lengths = inputs["lengths"].data<int32_t>();
  lengths[0] = 4;
  lengths[1] = 2;
  const Tensor y = Forward(graph, "NAIVE", inputs).at("y");  // [4, 2 directions, 2 sequences, 2]
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    EXPECT_EQ(y.data<float>()[i] == 0, i / 8 >= 2 && i / 2 % 2 == 1) << "element " << i;
  }
  ExpectSameAfterFiles(graph, inputs);
  lengths[1] = 5;
  const auto network = CreateNetwork(std::make_shared<const Graph>(graph), "NAIVE", {}).value();
  for (const auto& [name, value] : inputs) ASSERT_TRUE(network->SetInput(name, value).ok());
  EXPECT_NE(network->Forward().message().find("length 5 of sequence 1 is outside 0 .. 4"), std::string::npos);
}

TEST(OnnxRecurrentTest, ComMicrosoftsDynamicQuantizeLstm) {
  OnnxModel m;
  auto* domain = m.proto().add_opset_import();
  domain->set_domain("com.microsoft");
  domain->set_version(1);
  m.Input("x", {3, 1, 2}).Output("y");
  std::vector<int64_t> weights;
  for (int64_t i = 0; i < 16; ++i) weights.push_back(i * 29 % 200 - 100);
  m.Ints("W", {1, 2, 8}, weights);
  m.Ints("R", {1, 2, 8}, weights);
  m.Floats("scale", {1}, {0.01f});
  m.Ints("zero", {1}, {0});
  auto& node =
      m.Node("DynamicQuantizeLSTM", {"x", "W", "R", "", "", "", "", "", "scale", "zero", "scale", "zero"}, {"y"}, "q");
  node.set_domain("com.microsoft");
  OnnxModel::SetInt(&node, "hidden_size", 2);
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->layers.size(), 1u);
  EXPECT_EQ(graph->layers[0].type, "PlumbDynamicQuantizeLSTM");
  EXPECT_EQ(graph->layers[0].name, "q");
  ExpectSameAfterFiles(*graph, {{"x", RandomInput("x", DType::kF32, {3, 1, 2}, 1, {}).value()}});
  node.mutable_input()->RemoveLast();
  EXPECT_NE(m.Import().status().message().find("it takes 12 inputs, found 11"), std::string::npos);
  node.set_domain("");
  EXPECT_NE(m.Import().status().message().find("Plumb has no such operator"), std::string::npos);
}

TEST(OnnxRecurrentTest, AnUnknownActivationIsNamed) {
  OnnxModel m = Lstm();
  m.graph().mutable_node(0)->mutable_attribute(3)->set_strings(1, "Swish");
  EXPECT_NE(m.Import().status().message().find("activation 'Swish' is none of"), std::string::npos);
}

}  // namespace
}  // namespace plumb
