// SPDX-License-Identifier: Apache-2.0
// Attention beside numbers that one can see: queries of 0 weigh all keys that they may see alike. Its company in
// language models: RMSNormalization, Swish, RotaryEmbedding.
#include <gtest/gtest.h>

#include <cmath>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

constexpr int kInt64 = 7, kBool = 9;

Tensor Filled(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    tensor.data<float>()[i] = values[static_cast<size_t>(i) % values.size()];
  }
  return tensor;
}

void ExpectValues(const OnnxModel& m, const std::map<std::string, Tensor>& inputs,
                  const std::vector<double>& expected) {
  const auto imported = m.Import();
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto graph = std::make_shared<const Graph>(*imported);
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const auto network = CreateNetwork(graph, device, {});
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    for (const auto& [name, value] : inputs) ASSERT_TRUE((*network)->SetInput(name, value).ok());
    ASSERT_TRUE((*network)->Forward().ok());
    const Tensor y = (*network)->GetOutput("y").value();
    ASSERT_EQ(y.NumElements(), static_cast<int64_t>(expected.size())) << device;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(y.ValueAt(static_cast<int64_t>(i)), expected[i], 1e-5) << device << " [" << i << "]";
    }
  }
}

TEST(OnnxAttentionTest, CausalQueriesSeeThePastAndOneKeyMoreEach) {
  OnnxModel m(23);
  for (const char* name : {"q", "k", "v"}) m.Input(name, {1, 1, 2, 1});
  m.Input("past_k", {1, 1, 1, 1}).Input("past_v", {1, 1, 1, 1}).Output("y");
  auto& node = m.Node("Attention", {"q", "k", "v", "", "past_k", "past_v"}, {"y"}, "attend");
  OnnxModel::SetInt(&node, "is_causal", 1);
  const Shape two = {1, 1, 2, 1}, one = {1, 1, 1, 1};
  ExpectValues(m,
               {{"q", Filled(two, {0})},
                {"k", Filled(two, {1})},
                {"v", Filled(two, {3, 9})},
                {"past_k", Filled(one, {1})},
                {"past_v", Filled(one, {6})}},
               {4.5, 6});
}

TEST(OnnxAttentionTest, HeadsOfKeysServeSeveralQueriesAndAMaskedRowIsZero) {
  OnnxModel m(23);
  m.Input("q", {1, 2, 2}).Input("k", {1, 2, 1}).Input("v", {1, 2, 1}).Input("mask", {2, 2}, kBool).Output("y");
  auto& node = m.Node("Attention", {"q", "k", "v", "mask"}, {"y"}, "attend");
  OnnxModel::SetInt(&node, "q_num_heads", 2);
  OnnxModel::SetInt(&node, "kv_num_heads", 1);
  Tensor mask = Tensor::Create(DType::kBool, {2, 2}).value();
  for (int i = 0; i < 4; ++i) mask.data<bool>()[i] = i == 3;  // query 0 sees nothing, query 1 the second key
  ExpectValues(
      m,
      {{"q", Filled({1, 2, 2}, {0})}, {"k", Filled({1, 2, 1}, {1})}, {"v", Filled({1, 2, 1}, {3, 9})}, {"mask", mask}},
      {0, 0, 9, 9});
}

TEST(OnnxAttentionTest, PaddedKeysAreNotSeen) {
  OnnxModel m(24);
  m.Input("q", {2, 1, 1, 1}).Input("k", {2, 1, 3, 1}).Input("v", {2, 1, 3, 1}).Input("n", {2}, kInt64).Output("y");
  m.Node("Attention", {"q", "k", "v", "", "", "", "n"}, {"y"}, "attend");
  Tensor lengths = Tensor::Create(DType::kI64, {2}).value();
  lengths.data<int64_t>()[0] = 1;
  lengths.data<int64_t>()[1] = 2;
  const Shape keys = {2, 1, 3, 1};
  ExpectValues(
      m, {{"q", Filled({2, 1, 1, 1}, {0})}, {"k", Filled(keys, {1})}, {"v", Filled(keys, {3, 9, 100})}, {"n", lengths}},
      {3, 6});
}

TEST(OnnxAttentionTest, RotaryEmbeddingTurnsPairsByTheAngleOfTheirPlace) {
  for (const bool interleaved : {false, true}) {
    OnnxModel m(23);
    m.Input("x", {1, 2, 6}).Input("at", {1, 2}, kInt64).Output("y");  // 1 head of 6, 4 of them turned
    m.Floats("cos", {3, 2}, {1, 1, 0, 0, -1, 1});                     // by 0; by 90 degrees; by 180 and 0
    m.Floats("sin", {3, 2}, {0, 0, 1, 1, 0, 0});
    auto& node = m.Node("RotaryEmbedding", {"x", "cos", "sin", "at"}, {"y"}, "turn");
    OnnxModel::SetInt(&node, "num_heads", 1);
    OnnxModel::SetInt(&node, "rotary_embedding_dim", 4);
    OnnxModel::SetInt(&node, "interleaved", interleaved ? 1 : 0);
    Tensor at = Tensor::Create(DType::kI64, {1, 2}).value();
    at.data<int64_t>()[0] = 1;
    at.data<int64_t>()[1] = 2;
    const std::map<std::string, Tensor> inputs = {{"x", Filled({1, 2, 6}, {1, 2, 3, 4, 5, 6})}, {"at", at}};
    if (interleaved)
      ExpectValues(m, inputs, {-2, 1, -4, 3, 5, 6, -1, -2, 3, 4, 5, 6});
    else
      ExpectValues(m, inputs, {-3, -4, 1, 2, 5, 6, -1, 2, -3, 4, 5, 6});
  }
}

TEST(OnnxAttentionTest, RMSNormalizationDividesByTheRootOfTheMeanSquare) {
  OnnxModel m(23);
  m.Input("x", {2}).Output("y");
  m.Floats("scale", {2}, {1, 2});
  m.Node("RMSNormalization", {"x", "scale"}, {"y"}, "norm");
  ExpectValues(m, {{"x", Filled({2}, {3, 4})}}, {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
}

TEST(OnnxAttentionTest, SwishTakesItsAlpha) {
  OnnxModel m(24);
  m.Input("x", {1}).Output("y");
  auto& node = m.Node("Swish", {"x"}, {"y"}, "swish");
  auto* alpha = node.add_attribute();
  alpha->set_name("alpha");
  alpha->set_type(::onnx::AttributeProto::FLOAT);
  alpha->set_f(2);
  ExpectValues(m, {{"x", Filled({1}, {1.5f})}}, {1.5 / (1 + std::exp(-3.0))});
}

}  // namespace
}  // namespace plumb
