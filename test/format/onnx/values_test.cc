// SPDX-License-Identifier: Apache-2.0
// Operators whose corner cases an importer gets wrong, beside values worked out by hand from ONNX's specification:
// reductions of nothing, nearest pixels at ties, windows in the end pad, shifts beyond the width, uint64 beyond 2^63.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

constexpr int kInt8 = 3, kInt32 = 6, kInt64 = 7, kDouble = 11, kUint64 = 13;

template <class T>
Tensor Make(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor = Tensor::Create(dtype, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}
Tensor Floats(const Shape& shape, const std::vector<float>& values) { return Make(DType::kF32, shape, values); }
Tensor Longs(const std::vector<int64_t>& values) {
  return Make(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

// The output "y", on each device that runs where the tests run; `within`: relative.
void ExpectY(const OnnxModel& m, const std::map<std::string, Tensor>& inputs, const Shape& shape,
             const std::vector<double>& expected, double within = 0) {
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    NetworkOptions options;
    options.fallback = true;  // X86 has no f64
    auto network = CreateNetwork(std::make_shared<const Graph>(*graph), device, options);
    ASSERT_TRUE(network.ok()) << device << ": " << network.status().ToString();
    for (const auto& [name, value] : inputs) ASSERT_TRUE((*network)->SetInput(name, value).ok()) << name;
    ASSERT_TRUE((*network)->Forward().ok()) << device;
    const Tensor y = (*network)->GetOutput("y").value();
    ASSERT_EQ(y.shape(), shape) << device;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double value = y.ValueAt(static_cast<int64_t>(i));
      EXPECT_LE(std::fabs(value - expected[i]), within * std::fabs(expected[i]))
          << device << " [" << i << "] is " << value << ", not " << expected[i];
    }
  }
}

TEST(OnnxValuesTest, AReductionOfNoAxesStillAppliesItsFunction) {
  const std::vector<float> x = {-3, 0.5f, 2, 4};
  const std::map<std::string, std::vector<double>> expected = {
      {"ReduceL1", {3, 0.5, 2, 4}},    {"ReduceL2", {3, 0.5, 2, 4}},        {"ReduceSumSquare", {9, 0.25, 4, 16}},
      {"ReduceSum", {-3, 0.5, 2, 4}},  {"ReduceMax", {-3, 0.5, 2, 4}},      {"ReduceProd", {-3, 0.5, 2, 4}},
      {"ReduceMean", {-3, 0.5, 2, 4}}, {"ReduceLogSumExp", {-3, 0.5, 2, 4}}};
  for (const auto& [op, values] : expected) {
    for (const int64_t keep : {0, 1}) {
      OnnxModel m(18);
      m.Input("x", {2, 2}).Output("y");
      auto& node = m.Node(op, {"x"}, {"y"});
      OnnxModel::SetInt(&node, "noop_with_empty_axes", 1);
      OnnxModel::SetInt(&node, "keepdims", keep);
      SCOPED_TRACE(op);
      ExpectY(m, {{"x", Floats({2, 2}, x)}}, {2, 2}, values, 1e-6);
    }
  }
  OnnxModel m(18);
  m.Input("x", {3}).Output("y");
  OnnxModel::SetInt(&m.Node("ReduceLogSum", {"x"}, {"y"}), "noop_with_empty_axes", 1);
  ExpectY(m, {{"x", Floats({3}, {1, 2, 8})}}, {3}, {0, std::log(2.0), std::log(8.0)}, 1e-6);
}

// 6 -> 3 by 0.6 (6 * 0.6 is 3.6): the middle of three is the middle of six, between pixels 2 and 3.
TEST(OnnxValuesTest, TheCentreOfHalfPixelSymmetricIsATie) {
  for (const auto& [rounding, middle] : {std::pair{"round_prefer_floor", 3.0}, std::pair{"round_prefer_ceil", 4.0}}) {
    OnnxModel m(19);
    m.Input("x", {1, 1, 1, 6}).Output("y");
    m.Floats("scales", {4}, {1, 1, 1, 0.6f});
    auto& node = m.Node("Resize", {"x", "", "scales"}, {"y"});
    for (const auto& [name, text] : {std::pair{"mode", "nearest"}, std::pair{"nearest_mode", rounding},
                                     std::pair{"coordinate_transformation_mode", "half_pixel_symmetric"}}) {
      auto* attribute = node.add_attribute();
      attribute->set_name(name);
      attribute->set_type(::onnx::AttributeProto::STRING);
      attribute->set_s(text);
    }
    ExpectY(m, {{"x", Floats({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6})}}, {1, 1, 1, 3}, {2, middle, 5});
  }
}

// Kernel 1 and stride 2 on 2 elements: rounded up there would be a second window, behind the last element.
TEST(OnnxValuesTest, NoWindowBeginsInTheEndPad) {
  const Tensor x = Floats({1, 1, 2, 2}, {1, 2, 3, 4});
  for (const char* op : {"MaxPool", "AveragePool"}) {
    OnnxModel m(19);  // of the backend's test_maxpool_2d_ceil_output_size_reduce_by_one
    m.Input("x", {1, 1, 2, 2}).Output("y");
    auto& node = m.Node(op, {"x"}, {"y"});
    OnnxModel::SetInts(&node, "kernel_shape", {1, 1});
    OnnxModel::SetInts(&node, "strides", {2, 2});
    OnnxModel::SetInt(&node, "ceil_mode", 1);
    ExpectY(m, {{"x", x}}, {1, 1, 1, 1}, {1});
  }
  // Rows: 4 with kernel 3, stride 2 need the window that begins at 2. Columns: 4 with pads 1 1, kernel 2, stride 3 have
  // windows at -1 and 2; the third, at 5, lies behind the input.
  const Tensor wide = Floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  for (const bool largest : {true, false}) {
    OnnxModel m(19);
    m.Input("x", {1, 1, 4, 4}).Output("y");
    auto& node = m.Node(largest ? "MaxPool" : "AveragePool", {"x"}, {"y"});
    OnnxModel::SetInts(&node, "kernel_shape", {3, 2});
    OnnxModel::SetInts(&node, "strides", {2, 3});
    OnnxModel::SetInts(&node, "pads", {0, 1, 0, 2});
    OnnxModel::SetInt(&node, "ceil_mode", 1);
    const std::vector<double> expected =
        largest ? std::vector<double>{9, 12, 13, 16} : std::vector<double>{5, 7.5, 11, 13.5};
    ExpectY(m, {{"x", wide}}, {1, 1, 2, 2}, expected, 1e-6);
  }
}

OnnxModel Shift(int type, const char* direction, int64_t count) {
  OnnxModel m(28);
  m.Input("x", {count}, type).Input("n", {count}, type).Output("y");
  auto* attribute = m.Node("BitShift", {"x", "n"}, {"y"}).add_attribute();
  attribute->set_name("direction");
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s(direction);
  return m;
}

TEST(OnnxValuesTest, ShiftsOfSignedIntegersKeepTheSign) {
  const std::vector<int64_t> x = {-128, -5, -5, -5, -5, 100, 100, 100}, n = {7, 1, 8, 300, -1, 1, 7, 8};
  ExpectY(Shift(kInt8, "RIGHT", 8), {{"x", Longs(x)}, {"n", Longs(n)}}, {8}, {-1, -3, -1, -1, -1, 50, 0, 0});
  ExpectY(Shift(kInt8, "LEFT", 8), {{"x", Longs(x)}, {"n", Longs(n)}}, {8}, {0, -10, 0, 0, 0, -56, 0, 0});
  ExpectY(Shift(kInt64, "RIGHT", 3), {{"x", Longs({-8, -8, 8})}, {"n", Longs({1, 64, 64})}}, {3}, {-4, -1, 0});
  const Tensor wide = Make<int32_t>(DType::kI32, {6}, {-8, -8, -8, 8, 1 << 30, 3});
  const Tensor by = Make<int32_t>(DType::kI32, {6}, {1, 31, 32, 2, 1, -1});
  ExpectY(Shift(kInt32, "RIGHT", 6), {{"x", wide}, {"n", by}}, {6}, {-4, -1, -1, 2, 1 << 29, 0});
  ExpectY(Shift(kInt32, "LEFT", 6), {{"x", wide}, {"n", by}}, {6}, {-16, 0, 0, 32, -2147483648.0, 0});
  EXPECT_FALSE(Shift(kInt32, "UP", 1).Import().ok());
}

constexpr int64_t kFirstBit = std::numeric_limits<int64_t>::min();  // as uint64 2^63

TEST(OnnxValuesTest, Uint64BeyondTheSignIsLarge) {
  const std::map<std::string, Tensor> two = {{"x", Longs({kFirstBit, 5, -1})}, {"n", Longs({1, kFirstBit, 2})}};
  for (const auto& [op, expected] :
       {std::pair{"Less", std::vector<double>{0, 1, 0}}, std::pair{"GreaterOrEqual", std::vector<double>{1, 0, 1}}}) {
    OnnxModel m;
    m.Input("x", {3}, kUint64).Input("n", {3}, kUint64).Output("y");
    m.Node(op, {"x", "n"}, {"y"});
    ExpectY(m, two, {3}, expected);
  }
  OnnxModel least;
  least.Input("x", {3}, kUint64).Input("n", {3}, kUint64).Output("y");
  least.Node("Min", {"x", "n"}, {"y"});
  ExpectY(least, two, {3}, {1, 5, 2});
  OnnxModel place;
  place.Input("x", {3}, kUint64).Output("y");
  OnnxModel::SetInt(&place.Node("ArgMin", {"x"}, {"y"}), "keepdims", 0);
  ExpectY(place, {{"x", two.at("x")}}, {}, {1});
  ExpectY(Shift(kUint64, "RIGHT", 2), {{"x", Longs({kFirstBit, -1})}, {"n", Longs({63, 60})}}, {2}, {1, 15});
}

TEST(OnnxValuesTest, CastsOfUint64BeyondTheSign) {
  for (const int type : {1, kDouble}) {
    OnnxModel from;
    from.Input("x", {3}, kUint64).Output("y");
    OnnxModel::SetInt(&from.Node("Cast", {"x"}, {"y"}), "to", type);
    ExpectY(from, {{"x", Longs({kFirstBit, -1, 7})}}, {3}, {0x1p63, 0x1p64, 7}, 1e-7);
  }
  OnnxModel to;
  to.Input("x", {4}).Output("y");
  OnnxModel::SetInt(&to.Node("Cast", {"x"}, {"y"}), "to", kUint64);
  ExpectY(to, {{"x", Floats({4}, {0x1p63f, 0x1.8p63f, 7.9f, 0x1p62f})}}, {4}, {-0x1p63, -0x1p62, 7, 0x1p62});
}

}  // namespace
}  // namespace plumb
