// SPDX-License-Identifier: Apache-2.0
// What TFLite's operators become: layers, names, orders of axes, and values computed by hand.
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>

#include "format/tflite/tflite_model.h"

namespace plumb {
namespace {

using Code = TfliteModel::Code;

std::vector<std::string> Types(const Graph& graph) {
  std::vector<std::string> types;
  for (const Layer& layer : graph.layers) types.push_back(layer.type);
  return types;
}

// A convolution of ones with a fused ReLU, then an Add, on [1,4,4,2].
int AddConvolution(TfliteModel* m, int x, const std::string& name, schema::Padding padding, int stride,
                   const std::vector<int>& out) {
  const int w = m->Constant(name + "/w", {2, 3, 3, 2}, std::vector<float>(36, 1));
  const int b = m->Constant<float>(name + "/b", {2}, {0, 1});
  const int y = m->Tensor(name, out);
  m->Op(Code::CONV_2D, {x, w, b}, {y},
        schema::CreateConv2DOptions(m->builder(), padding, stride, stride, schema::Activation::RELU));
  return y;
}

TEST(TfliteImportTest, BetweenConvolutionsNothingIsTurned) {
  TfliteModel m;
  const int x = m.Input("x", {1, 4, 4, 2});
  const int a = AddConvolution(&m, x, "a", schema::Padding::SAME, 1, {1, 4, 4, 2});
  const int b = AddConvolution(&m, a, "b", schema::Padding::SAME, 1, {1, 4, 4, 2});
  const int y = m.Tensor("y", {1, 4, 4, 2});
  m.Op(Code::ADD, {a, b}, {y}, schema::CreateAddOptions(m.builder()));
  const auto graph = m.Load({y});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(Types(*graph),
            (std::vector<std::string>{"Permute", "Convolution", "ReLU", "Convolution", "ReLU", "Add", "Permute"}));
  EXPECT_EQ(graph->inputs[0].shape, (Shape{1, 4, 4, 2}));
  EXPECT_EQ(graph->file_axes.at("a"), (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(graph->file_axes.count("x") + graph->file_axes.count("y"), 0u);
  EXPECT_EQ(graph->layers[2].outputs[0], "a");
  EXPECT_EQ(graph->layers[2].name, "a");
}

TEST(TfliteImportTest, LayersKnowTheirOperators) {
  TfliteModel m;
  const int x = m.Input("x", {1, 4, 4, 2});
  const int a = AddConvolution(&m, x, "a", schema::Padding::SAME, 1, {1, 4, 4, 2});
  const int half = m.Constant<float>("half", {2}, {0.5f, 0.5f});
  const int scale = m.Tensor("scale", {2});
  m.Op(Code::NEG, {half}, {scale});
  const int y = m.Tensor("y", {1, 4, 4, 2});
  m.Op(Code::MUL, {a, scale}, {y}, schema::CreateMulOptions(m.builder()));
  m.EndGraph({y});
  FileNodes file;
  const auto graph = TfliteModel::LoadBytes(m.Bytes(), "", &file);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(file.format, "TFLite");
  ASSERT_EQ(file.nodes.size(), 3u);
  EXPECT_EQ(file.nodes[0].type, "CONV_2D");
  EXPECT_EQ(file.nodes[0].name, "a");
  EXPECT_EQ(file.nodes[0].inputs, (std::vector<std::string>{"x", "a/w", "a/b"}));
  EXPECT_EQ(file.nodes[1].fate, FileNodes::Fate::kFolded);
  EXPECT_EQ(file.nodes[2].fate, FileNodes::Fate::kLayers);
  ASSERT_EQ(file.of_layers.size(), graph->layers.size());
  for (size_t i = 0; i < graph->layers.size(); ++i) {
    const int expected = graph->layers[i].nodes[0] == "a" ? 0 : 2;
    EXPECT_EQ(file.of_layers[i], expected) << graph->layers[i].name;
  }
}

TEST(TfliteImportTest, AConvolutionReadsChannelsLast) {
  TfliteModel m;
  const int x = m.Input("x", {1, 1, 2, 2});
  const int w = m.Constant<float>("w", {1, 1, 2, 2}, {1, 10, 100, 1000});  // out, h, w, in
  const int y = m.Tensor("y", {1, 1, 1, 1});
  m.Op(Code::CONV_2D, {x, w}, {y}, schema::CreateConv2DOptions(m.builder(), schema::Padding::VALID, 1, 1));
  const auto found = m.Run({y}, {{1, 2, 3, 4}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, std::vector<double>{1 + 20 + 300 + 4000});
}

TEST(TfliteImportTest, AFlattenReadsTheFilesOrder) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 1, 2});
  const int p = m.Tensor("p", {1, 2, 1, 2});
  m.Op(Code::MAX_POOL_2D, {x}, {p}, schema::CreatePool2DOptions(m.builder(), schema::Padding::SAME, 1, 1, 1, 1));
  const int shape = m.Ints("shape", {1, 4});
  const int flat = m.Tensor("flat", {1, 4});
  m.Op(Code::RESHAPE, {p, shape}, {flat});
  const int w = m.Constant<float>("w", {1, 4}, {1, 10, 100, 1000});
  const int y = m.Tensor("y", {1, 1});
  m.Op(Code::FULLY_CONNECTED, {flat, w}, {y}, schema::CreateFullyConnectedOptions(m.builder()));
  const auto found = m.Run({y}, {{1, 2, 3, 4}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, std::vector<double>{4321});
}

// Sums of a window of ones over ones count what lies inside the image, which SAME puts at the beginning.
TEST(TfliteImportTest, SamePadsTheOddPixelAtTheEnd) {
  for (int size = 1; size <= 7; ++size) {
    for (int kernel = 1; kernel <= 5; ++kernel) {
      for (int stride = 1; stride <= 3; ++stride) {
        for (int dilation = 1; dilation <= (stride == 1 ? 3 : 1); ++dilation) {
          TfliteModel m;
          const int x = m.Input("x", {1, size, 1, 1});
          const int w = m.Constant("w", {1, kernel, 1, 1}, std::vector<float>(static_cast<size_t>(kernel), 1));
          const int out = (size + stride - 1) / stride;
          const int y = m.Tensor("y", {1, out, 1, 1});
          m.Op(Code::CONV_2D, {x, w}, {y},
               schema::CreateConv2DOptions(m.builder(), schema::Padding::SAME, 1, stride, schema::Activation::NONE, 1,
                                           dilation));
          const auto found = m.Run({y}, {{1}});
          ASSERT_TRUE(found.ok()) << found.status().ToString();
          const int pad = std::max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - size) / 2;
          std::vector<double> expected;
          for (int o = 0; o < out; ++o) {
            expected.push_back(0);
            for (int k = 0; k < kernel; ++k) {
              const int at = o * stride - pad + k * dilation;
              expected.back() += at >= 0 && at < size;
            }
          }
          EXPECT_EQ(*found, expected) << size << " " << kernel << " " << stride << " " << dilation;
        }
      }
    }
  }
}

TEST(TfliteImportTest, IntegersStandForReals) {
  TfliteModel m;
  TensorSpec grid{schema::TensorType::INT8, {0.5f}, {-1}};
  const int x = m.Input("x", {1, 3}, grid);
  TensorSpec of_w{schema::TensorType::INT8, {0.25f, 1.0f}, {0, 0}};
  const int w = m.Constant<int8_t>("w", {2, 3}, {1, 2, 3, -1, 0, 1}, of_w);
  TensorSpec of_b{schema::TensorType::INT32, {0.125f, 0.5f}, {0, 0}};
  const int b = m.Constant<int32_t>("b", {2}, {8, -2}, of_b);
  TensorSpec of_y{schema::TensorType::INT8, {0.25f}, {3}};
  const int y = m.Tensor("y", {1, 2}, of_y);
  m.Op(Code::FULLY_CONNECTED, {x, w, b}, {y}, schema::CreateFullyConnectedOptions(m.builder()));
  const auto found = m.Run({y}, {{1, 3, 5}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  // x stands for 1, 2, 3: 0.25 (1 + 4 + 9) + 1 = 4.5 and 2 - 1 = 1, in steps of 0.25 from 3 on.
  EXPECT_EQ(*found, (std::vector<double>{21, 7}));
}

TEST(TfliteImportTest, EqualNamesAreToldApartByTheirIndex) {
  TfliteModel m;
  const int x = m.Input("t", {2});
  const int a = m.Tensor("t", {2});
  m.Op(Code::ABS, {x}, {a});
  const int y = m.Tensor("y", {2});
  m.Op(Code::NEG, {a}, {y});
  const auto graph = m.Load({y});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->layers[0].outputs[0], "t#1");
}

TEST(TfliteImportTest, AMeanOverPixelsKeepsTheChannels) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 1, 2});
  const int p = m.Tensor("p", {1, 2, 1, 2});
  m.Op(Code::MAX_POOL_2D, {x}, {p}, schema::CreatePool2DOptions(m.builder(), schema::Padding::SAME, 1, 1, 1, 1));
  const int axes = m.Ints("axes", {1, 2});
  const int y = m.Tensor("y", {1, 2});
  m.Op(Code::MEAN, {p, axes}, {y}, schema::CreateReducerOptions(m.builder(), false));
  const auto found = m.Run({y}, {{1, 2, 3, 6}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (std::vector<double>{2, 4}));
}

TEST(TfliteImportTest, AVariableIsWhatWasWrittenLast) {
  TfliteModel m;
  const TensorSpec handle{schema::TensorType::RESOURCE, {}, {}};
  const auto options = [&m] {
    return schema::CreateVarHandleOptions(m.builder(), m.builder().CreateString("c"), m.builder().CreateString("v"));
  };
  const int x = m.Input("x", {2});
  const int v = m.Tensor("v", {1}, handle);
  m.Op(Code::CALL_ONCE, {}, {}, schema::CreateCallOnceOptions(m.builder(), 1));
  m.Op(Code::VAR_HANDLE, {}, {v}, options());
  const int before = m.Tensor("before", {2});
  m.Op(Code::READ_VARIABLE, {v}, {before});
  const int sum = m.Tensor("sum", {2});
  m.Op(Code::ADD, {x, before}, {sum}, schema::CreateAddOptions(m.builder()));
  m.Op(Code::ASSIGN_VARIABLE, {v, sum}, {});
  const int after = m.Tensor("after", {2});
  m.Op(Code::READ_VARIABLE, {v}, {after});
  const int y = m.Tensor("y", {2});
  m.Op(Code::ADD, {x, after}, {y}, schema::CreateAddOptions(m.builder()));
  m.EndGraph({y});
  const int start = m.Constant<float>("start", {2}, {100, 200});
  const int inner = m.Tensor("v", {1}, handle);
  m.Op(Code::VAR_HANDLE, {}, {inner}, options());
  m.Op(Code::ASSIGN_VARIABLE, {inner, start}, {});
  m.EndGraph({});
  auto graph = TfliteModel::LoadBytes(m.Bytes());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto network = CreateNetwork(std::move(*graph), "NAIVE");
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  auto given = Tensor::Create(DType::kF32, Shape{2});
  given->data<float>()[0] = 1, given->data<float>()[1] = 2;
  ASSERT_TRUE((*network)->SetInput("x", *given).ok());
  ASSERT_TRUE((*network)->Forward().ok());
  const auto found = (*network)->GetOutput("y");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->data<float>()[0], 102);
  EXPECT_EQ(found->data<float>()[1], 204);
}

// What the next run would begin with, and nobody reads.
TEST(TfliteImportTest, WhatOnlyAVariableTakesIsComputed) {
  TfliteModel m;
  const TensorSpec handle{schema::TensorType::RESOURCE, {}, {}};
  const int x = m.Input("x", {2}), y = m.Tensor("y", {2}), state = m.Tensor("state", {2});
  const int v = m.Tensor("v", {1}, handle), seen = m.Tensor("seen", {2}), lost = m.Tensor("lost", {2});
  m.Op(Code::VAR_HANDLE, {}, {v},
       schema::CreateVarHandleOptions(m.builder(), m.builder().CreateString("c"), m.builder().CreateString("v")));
  m.Op(Code::NEG, {x}, {y});
  m.Op(Code::ADD, {x, y}, {seen}, schema::CreateAddOptions(m.builder()));
  m.Op(Code::ABS, {seen}, {state});
  m.Op(Code::ASSIGN_VARIABLE, {v, state}, {});
  m.Op(Code::EXP, {x}, {lost});
  const auto graph = m.Load({y});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->outputs, std::vector<std::string>{"y"});
  std::vector<std::string> written;
  for (const Layer& layer : graph->layers) written.push_back(layer.outputs[0]);
  EXPECT_EQ(std::count(written.begin(), written.end(), "state"), 1);
  EXPECT_EQ(std::count(written.begin(), written.end(), "lost"), 0);
}

TEST(TfliteImportTest, UnknownOperatorsAreNamedInOneSentence) {
  TfliteModel m;
  const int x = m.Input("x", {2}), a = m.Tensor("a", {2}), b = m.Tensor("b", {2}), y = m.Tensor("y", {2});
  m.Custom("FlexErf", {x}, {a});
  m.Custom("FlexErf", {a}, {b});
  m.Op(Code::HASHTABLE, {b}, {y});
  const auto graph = m.Load({y});
  ASSERT_EQ(graph.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(
      graph.status().message(),
      "model 'x.tflite': Plumb has no operator for CUSTOM 'FlexErf' (2), HASHTABLE (1); doc/tflite.md lists what it "
      "reads");
}

// A subgraph that doubles, and one that squares.
std::string TwoSignatures(int squared) {
  TfliteModel m;
  const int x = m.Input("x", {1, 3}), y = m.Tensor("y", {1, 3});
  m.Op(TfliteModel::Code::ADD, {x, x}, {y}, schema::CreateAddOptions(m.builder()));
  m.Signature("doubled", {{"given", x}}, {{"made", y}});
  m.EndGraph({y});
  const int z = m.Input("z", {1, 2}), s = m.Tensor("s", {1, 2});
  m.Op(TfliteModel::Code::SQUARE, {z}, {s});
  m.Signature("squared", {{"given", z}}, {{"made", squared}});
  m.EndGraph({s});
  return m.Bytes();
}

TEST(TfliteImport, ASignatureChoosesItsSubgraph) {
  const std::string bytes = TwoSignatures(1);
  const auto first = TfliteModel::LoadBytes(bytes), second = TfliteModel::LoadBytes(bytes, "squared");
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().ToString() << second.status().ToString();
  EXPECT_EQ(first->inputs[0].name, "x");
  EXPECT_EQ(second->inputs[0].name, "z");
  EXPECT_EQ(second->outputs, std::vector<std::string>{"s"});
  EXPECT_EQ(first->notes.size(), second->notes.size() + 1);
  EXPECT_EQ(first->notes.back(),
            "signatures: 'doubled', 'squared'; the first subgraph, that of 'doubled', is the network "
            "(LoadOptions::signature)");
  const Status none = TfliteModel::LoadBytes(bytes, "cubed").status();
  EXPECT_EQ(none.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(none.message().find("no signature 'cubed'; its signatures are 'doubled', 'squared'"), std::string::npos)
      << none.message();
  const Status broken = TfliteModel::LoadBytes(TwoSignatures(2)).status();
  EXPECT_EQ(broken.code(), StatusCode::kCorruptModel);
  EXPECT_NE(broken.message().find("signature 1 'squared' names tensor 2 of 2"), std::string::npos) << broken.message();
}

}  // namespace
}  // namespace plumb
