// SPDX-License-Identifier: Apache-2.0
// Files that are cut short, damaged or made to harm: one sentence, and never a crash.
#include <gtest/gtest.h>

#include <cmath>

#include "format/tflite/tflite_model.h"

namespace plumb {
namespace {

using Code = TfliteModel::Code;

// Every kind of thing that can be wrong once: a convolution, a reshape, a quantised product.
std::string SmallFile() {
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 2, 1});
  const int w = m.Constant("w", {1, 1, 1, 1}, std::vector<float>{2});
  const int c = m.Tensor("c", {1, 2, 2, 1});
  m.Op(Code::CONV_2D, {x, w}, {c}, schema::CreateConv2DOptions(m.builder(), schema::Padding::SAME, 1, 1));
  const int shape = m.Ints("shape", {1, 4}), flat = m.Tensor("flat", {1, 4});
  m.Op(Code::RESHAPE, {c, shape}, {flat});
  const int q = m.Tensor("q", {1, 4}, {schema::TensorType::INT8, {0.5f}, {0}});
  m.Op(Code::QUANTIZE, {flat}, {q});
  m.EndGraph({q});
  return m.Bytes();
}

TEST(TfliteBrokenTest, AFileThatIsCutShortIsRefused) {
  const std::string bytes = SmallFile();
  ASSERT_TRUE(TfliteModel::LoadBytes(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = TfliteModel::LoadBytes(bytes.substr(0, size));
    ASSERT_FALSE(graph.ok()) << size;
    EXPECT_EQ(graph.status().code(), StatusCode::kCorruptModel) << size << ": " << graph.status().message();
  }
}

// Whatever one byte is: a graph that shape inference accepts, or a sentence.
TEST(TfliteBrokenTest, AnyByteMayBeWrong) {
  const std::string bytes = SmallFile();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0, 1, 127, 128, 255}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      const auto graph = TfliteModel::LoadBytes(damaged);
      if (graph.ok()) {
        EXPECT_TRUE(InferShapes(*graph).ok()) << at << " " << value;
      } else {
        EXPECT_FALSE(graph.status().message().empty()) << at << " " << value;
      }
    }
  }
}

std::string ErrorOf(TfliteModel* m, const std::vector<int>& outputs) {
  const auto graph = m->Load(outputs);
  return graph.ok() ? "none" : graph.status().message();
}

TEST(TfliteBrokenTest, AnIndexMustNameATensor) {
  TfliteModel m;
  const int x = m.Input("x", {2}), y = m.Tensor("y", {2});
  m.Op(Code::ABS, {x + 7}, {y});
  EXPECT_EQ(
      ErrorOf(&m, {y}),
      "model 'x.tflite': subgraph 0: operator 0: input 0 is tensor 7, expected one of the 2 tensors of the subgraph");
}

TEST(TfliteBrokenTest, AnOperatorReadsWhatIsThere) {
  TfliteModel m;
  const int x = m.Input("x", {2}), a = m.Tensor("a", {2}), y = m.Tensor("y", {2});
  m.Op(Code::ADD, {x, a}, {y}, schema::CreateAddOptions(m.builder()));
  m.Op(Code::ABS, {y}, {a});
  EXPECT_EQ(ErrorOf(&m, {y}),
            "model 'x.tflite': operator 0 'y' (ADD): it reads tensor 1 'a', which no input, buffer or earlier operator "
            "defines");
}

TEST(TfliteBrokenTest, ATensorIsWrittenOnce) {
  TfliteModel m;
  const int x = m.Input("x", {2}), y = m.Tensor("y", {2});
  m.Op(Code::ABS, {x}, {y});
  m.Op(Code::NEG, {x}, {y});
  EXPECT_EQ(ErrorOf(&m, {y}), "model 'x.tflite': operator 1 'y' (NEG): tensor 1 'y' is written twice");
}

TEST(TfliteBrokenTest, ABufferHasTheTensorsSize) {
  TfliteModel m;
  const int x = m.Input("x", {2}), w = m.Constant("w", {3}, std::vector<float>{1, 2}), y = m.Tensor("y", {2});
  m.Op(Code::ADD, {x, w}, {y}, schema::CreateAddOptions(m.builder()));
  EXPECT_EQ(ErrorOf(&m, {y}),
            "model 'x.tflite': operator 0 'y' (ADD): tensor 1 'w': expects 12 bytes for [3], found a buffer of 8");
}

// A file that says more of its scales than Plumb reads means other weights.
TEST(TfliteBrokenTest, ScalesOfNoKnownKindAreRefusedAndOthersAreCounted) {
  const auto with = [](schema::QuantizationDetails details, const std::vector<float>& scale) {
    TfliteModel m;
    TensorSpec spec{schema::TensorType::INT8, scale, std::vector<int64_t>(scale.size())};
    spec.details = details;
    const int x = m.Input("x", {3}), w = m.Constant<int8_t>("w", {3}, {1, 2, 3}, spec), y = m.Tensor("y", {3});
    m.Op(Code::ADD, {x, w}, {y}, schema::CreateAddOptions(m.builder()));
    return ErrorOf(&m, {y});
  };
  const auto custom = static_cast<schema::QuantizationDetails>(1);
  EXPECT_EQ(with(schema::QuantizationDetails::BlockwiseQuantization, {0.5f}),
            "model 'x.tflite': subgraph 0: tensor 1 'w': its scales are of a kind that Plumb does not read; "
            "quantise it with one per channel");
  EXPECT_EQ(with(custom, {0.5f, 0.25f}),
            "model 'x.tflite': subgraph 0: tensor 1 'w': it has 2 scales along axis 0 of [3]");
  for (const auto& [scale, text] : {std::pair(NAN, "nan"), std::pair(INFINITY, "inf"), std::pair(-0.5f, "-0.5")}) {
    EXPECT_EQ(with(custom, {scale}), std::string("model 'x.tflite': subgraph 0: tensor 1 'w': it has the scale ") +
                                         text + ", expected a positive number");
  }
}

TEST(TfliteBrokenTest, ScalesOfBlocksAreAConstantThatDividesTheRows) {
  const auto with = [](int scales, int size) {
    TfliteModel m;
    const int x = m.Input("x", {1, 4}), s = m.Constant<float>("s", {1, 2}, {1, 2});
    TensorSpec spec{schema::TensorType::INT8, {}, {}};
    spec.block_scales = scales == 1 ? s : scales, spec.block_size = size;
    const int w = m.Constant<int8_t>("w", {1, 4}, {1, 2, 3, 4}, spec), y = m.Tensor("y", {1, 1});
    m.Op(Code::FULLY_CONNECTED, {x, w}, {y}, schema::CreateFullyConnectedOptions(m.builder()));
    const std::string error = ErrorOf(&m, {y});
    return error.substr(error.rfind("'w'") == std::string::npos ? 0 : error.rfind("'w'"));
  };
  EXPECT_EQ(with(1, 2), "none");
  EXPECT_EQ(with(1, 3), "'w': it is [1,4] with 2 scales of blocks of 3");
  EXPECT_EQ(with(1, 4), "'w': it is [1,4] with 2 scales of blocks of 4");
  EXPECT_EQ(with(1, 0), "'w': it is [1,4] with 2 scales of blocks of 0");
  EXPECT_EQ(with(2, 2), "'w': the scales of its blocks are tensor 2 of 4, expected a constant");
  EXPECT_EQ(with(9, 2), "'w': the scales of its blocks are tensor 9 of 4, expected a constant");
  EXPECT_EQ(with(0, 2), "'w': the scales of its blocks are tensor 0 of 4, expected a constant");
}

TEST(TfliteBrokenTest, ATransposedVolumeHasWeightsThatFit) {
  const auto with = [](const std::vector<int>& weights, int stride) {
    TfliteModel m;
    const int x = m.Input("x", {1, 2, 2, 2, 1}), out = m.Ints("out", {1, 2, 2, 2, 1});
    const int w = m.Constant<float>("w", weights, std::vector<float>(8, 1)), y = m.Tensor("y", {1, 2, 2, 2, 1});
    m.Op(Code::CONV_3D_TRANSPOSE, {out, w, x}, {y},
         schema::CreateConv3DOptions(m.builder(), schema::Padding::SAME, stride, 1, 1));
    return ErrorOf(&m, {y});
  };
  EXPECT_EQ(with({2, 2, 2, 1, 1}, 1), "none");
  EXPECT_NE(with({2, 2, 1, 2, 1}, 1).find("do not lead from [1,2,2,2,1] to [1,2,2,2,1]"), std::string::npos);
  EXPECT_NE(with({2, 2, 2, 1, 1}, 0).find("the stride 0"), std::string::npos);
  EXPECT_NE(with({2, 2, 2, 1}, 1).find("its weights are [2,2,2,1]"), std::string::npos);
}

TEST(TfliteBrokenTest, AnRnnHasItsWeights) {
  const auto with = [](const std::vector<int>& recurrent, bool bias) {
    TfliteModel m;
    const int x = m.Input("x", {1, 1}), w = m.Constant<float>("w", {1, 1}, {1});
    const int r = m.Constant<float>("r", recurrent, {1}), b = m.Constant<float>("b", {1}, {1});
    const int state = m.Tensor("h", {1, 1}), y = m.Tensor("y", {1, 1});
    m.Op(Code::RNN, {x, w, r, bias ? b : -1, state}, {y}, schema::CreateRNNOptions(m.builder()));
    return ErrorOf(&m, {y});
  };
  EXPECT_EQ(with({1, 1}, true), "none");
  EXPECT_NE(with({1}, true).find("its input 2 has no 2 dims"), std::string::npos);
  EXPECT_NE(with({1, 1}, false).find("its input 3 is left out"), std::string::npos);
}

TEST(TfliteBrokenTest, AShapeHasNoNegativeDim) {
  TfliteModel m;
  const int x = m.Input("x", {2, -3}), y = m.Tensor("y", {2});
  m.Op(Code::ABS, {x}, {y});
  EXPECT_EQ(ErrorOf(&m, {y}).find("model 'x.tflite': subgraph 0: tensor 0 'x': its shape: "), 0u);
}

TEST(TfliteBrokenTest, SubgraphsMayNotCallThemselves) {
  TfliteModel m;
  const TensorSpec flag{schema::TensorType::BOOL, {}, {}};
  const int go = m.Input("go", {}, flag), y = m.Tensor("y", {}, flag);
  m.Op(Code::IF, {go, go}, {y}, schema::CreateIfOptions(m.builder(), 0, 0));
  EXPECT_NE(ErrorOf(&m, {y}), "none");
}

}  // namespace
}  // namespace plumb
