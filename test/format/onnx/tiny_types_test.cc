// SPDX-License-Identifier: Apache-2.0
// Integers of 2 and 4 bits and floats of 4 and 8 bits: as packed constants, through DequantizeLinear (in blocks, too),
// Cast and QuantizeLinear. onnx_newest_test has ONNX's own cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

enum Tiny { kE4M3FN = 17, kE5M2 = 19, kUint4 = 21, kInt4 = 22, kE2M1 = 23, kUint2 = 25, kInt2 = 26 };

void Packed(OnnxModel* m, const std::string& name, int type, const std::vector<int64_t>& dims,
            const std::vector<uint8_t>& bytes) {
  ::onnx::TensorProto& tensor = *m->graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(std::string(bytes.begin(), bytes.end()));
}

std::vector<double> OutputOf(const OnnxModel& m, const std::vector<float>& x = {}) {
  const auto imported = m.Import();
  EXPECT_TRUE(imported.ok()) << imported.status().ToString();
  const auto network = CreateNetwork(std::make_shared<const Graph>(*imported), "NAIVE", {});
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!x.empty()) {
    Tensor value = Tensor::Create(DType::kF32, {static_cast<int64_t>(x.size())}).value();
    std::copy(x.begin(), x.end(), value.data<float>());
    EXPECT_TRUE((*network)->SetInput("x", value).ok());
  }
  EXPECT_TRUE((*network)->Forward().ok());
  const Tensor y = (*network)->GetOutput("y").value();
  std::vector<double> values;
  for (int64_t i = 0; i < y.NumElements(); ++i) values.push_back(y.ValueAt(i));
  return values;
}

std::vector<double> Dequantized(int type, const std::vector<uint8_t>& bytes, int64_t count) {
  OnnxModel m(25);
  Packed(&m, "q", type, {count}, bytes);
  m.Floats("scale", {}, {2});
  m.Output("y").Node("DequantizeLinear", {"q", "scale"}, {"y"});
  return OutputOf(m);
}

using Numbers = std::vector<double>;

TEST(OnnxTinyTypesTest, ConstantsAreUnpackedLowestBitsFirst) {
  EXPECT_EQ(Dequantized(kInt4, {0x8f, 0x07}, 3), Numbers({-2, -16, 14}));
  EXPECT_EQ(Dequantized(kUint4, {0x8f, 0x07}, 3), Numbers({30, 16, 14}));
  EXPECT_EQ(Dequantized(kInt2, {0xe4, 0x01}, 5), Numbers({0, 2, -4, -2, 2}));
  EXPECT_EQ(Dequantized(kUint2, {0xe4, 0x01}, 5), Numbers({0, 2, 4, 6, 2}));
  EXPECT_EQ(Dequantized(kE4M3FN, {0x38, 0xfe, 0x01}, 3), Numbers({2, -896, 0.00390625}));
  EXPECT_EQ(Dequantized(kE5M2, {0x3c, 0x7b, 0xfc}, 3), Numbers({2, 114688, -INFINITY}));
  EXPECT_EQ(Dequantized(kE2M1, {0x71, 0x0a}, 3), Numbers({1, 12, -2}));
}

TEST(OnnxTinyTypesTest, BlocksHaveScalesOfTheirOwn) {
  for (const int type : {kInt4, kE2M1}) {
    OnnxModel m(25);
    Packed(&m, "q", type, {1, 4}, {0x22, 0x22});  // 2, or 1 as a float
    m.Floats("scale", {1, 2}, {10, 100});
    ::onnx::NodeProto& node = m.Output("y").Node("DequantizeLinear", {"q", "scale"}, {"y"});
    OnnxModel::SetInt(&node, "axis", 1);
    OnnxModel::SetInt(&node, "block_size", 3);
    EXPECT_EQ(OutputOf(m), type == kInt4 ? Numbers({20, 20, 20, 200}) : Numbers({10, 10, 10, 100}));
  }
}

TEST(OnnxTinyTypesTest, CastsRoundOrWrap) {
  const auto cast = [](int to, int64_t saturate, const std::vector<float>& x) {
    OnnxModel m(25);
    m.Input("x", {static_cast<int64_t>(x.size())});
    ::onnx::NodeProto& node = m.Node("Cast", {"x"}, {"tiny"});
    OnnxModel::SetInt(&node, "to", to);
    OnnxModel::SetInt(&node, "saturate", saturate);
    OnnxModel::SetInt(&m.Output("y").Node("Cast", {"tiny"}, {"y"}), "to", 1);
    return OutputOf(m, x);
  };
  EXPECT_EQ(cast(kE4M3FN, 1, {1.0625f, 1000, -0.3f}), Numbers({1, 448, -0.3125}));
  EXPECT_TRUE(std::isnan(cast(kE4M3FN, 0, {1000})[0]));
  EXPECT_EQ(cast(kE5M2, 0, {1000, 1e6f}), Numbers({1024, INFINITY}));
  EXPECT_EQ(cast(kInt4, 1, {7, 8, -9}), Numbers({7, -8, 7}));
  EXPECT_EQ(cast(kUint2, 1, {3, 5}), Numbers({3, 1}));
}

TEST(OnnxTinyTypesTest, QuantizesWithinTheRange) {
  OnnxModel m(25);
  m.Input("x", {4}).Output("y").Floats("scale", {}, {0.5f});
  OnnxModel::SetInt(&m.Node("QuantizeLinear", {"x", "scale"}, {"y"}), "output_dtype", kInt4);
  EXPECT_EQ(OutputOf(m, {1, -2.3f, 100, -100}), Numbers({2, -5, 7, -8}));
}

TEST(OnnxTinyTypesTest, ACutTensorIsRefused) {
  OnnxModel m(25);
  Packed(&m, "q", kInt4, {5}, {0, 0});
  m.Floats("scale", {}, {2});
  m.Output("y").Node("DequantizeLinear", {"q", "scale"}, {"y"});
  const auto graph = m.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("expects 3 bytes, found 2"), std::string::npos) << graph.status().ToString();
}

}  // namespace
}  // namespace plumb
