// ConvInteger and QLinearConv beside plain loops: groups, strides, dilations, one-sided pads, a zero point per channel,
// bias.
#include <gtest/gtest.h>

#include <cmath>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

constexpr int kUint8 = 2, kInt8 = 3, kInt32 = 6;
constexpr int64_t kHeight = 5, kWidth = 7, kOutHeight = 2,
                  kOutWidth = 6;  // 4 channels in 2 groups, 6 filters [2, 3, 2]
constexpr int64_t kWeightZeros[] = {0, 1, -2, 3, 0, -1};
constexpr int64_t kInputZero = 3;

int64_t InputAt(int64_t i) { return i * 37 % 256; }
int64_t WeightAt(int64_t i) { return i * 23 % 255 - 127; }

// Stride 2 and 1, dilation 1 and 2, pads 1 0 0 1 (top left bottom right).
int64_t Expected(int64_t filter, int64_t row, int64_t column) {
  int64_t sum = 0;
  for (int64_t c = 0; c < 2; ++c) {
    for (int64_t ky = 0; ky < 3; ++ky) {
      for (int64_t kx = 0; kx < 2; ++kx) {
        const int64_t y = row * 2 - 1 + ky, x = column + kx * 2;
        if (y < 0 || y >= kHeight || x >= kWidth) continue;
        const int64_t channel = filter / 3 * 2 + c;
        const int64_t in = InputAt((channel * kHeight + y) * kWidth + x) - kInputZero;
        sum += in * (WeightAt(((filter * 2 + c) * 3 + ky) * 2 + kx) - kWeightZeros[filter]);
      }
    }
  }
  return sum;
}

void Constant(OnnxModel* m, const std::string& name, int type, const std::vector<int64_t>& dims,
              const std::vector<int64_t>& values) {
  ::onnx::TensorProto& tensor = *m->graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const int64_t value : values) tensor.add_int32_data(static_cast<int32_t>(value));
}

void AddOperands(OnnxModel* m) {
  m->Input("x", {1, 4, kHeight, kWidth}, kUint8).Output("y");
  std::vector<int64_t> weights;
  for (int64_t i = 0; i < 6 * 2 * 3 * 2; ++i) weights.push_back(WeightAt(i));
  Constant(m, "w", kInt8, {6, 2, 3, 2}, weights);
  Constant(m, "x_zero", kUint8, {}, {kInputZero});
  Constant(m, "w_zero", kInt8, {6}, {std::begin(kWeightZeros), std::end(kWeightZeros)});
}

void SetWindow(::onnx::NodeProto* node) {
  OnnxModel::SetInt(node, "group", 2);
  OnnxModel::SetInts(node, "strides", {2, 1});
  OnnxModel::SetInts(node, "dilations", {1, 2});
  OnnxModel::SetInts(node, "pads", {1, 0, 0, 1});
}

// value(filter, row, column) is what every element must be.
template <class Value>
void ExpectOutput(const OnnxModel& m, Value value) {
  const auto imported = m.Import();
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto graph = std::make_shared<const Graph>(*imported);
  Tensor x = Tensor::Create(DType::kI64, {1, 4, kHeight, kWidth}).value();
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<int64_t>()[i] = InputAt(i);
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const auto network = CreateNetwork(graph, device, {});
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    ASSERT_TRUE((*network)->SetInput("x", x).ok());
    ASSERT_TRUE((*network)->Forward().ok());
    const Tensor y = (*network)->GetOutput("y").value();
    ASSERT_EQ(y.shape(), (Shape{1, 6, kOutHeight, kOutWidth}));
    for (int64_t i = 0; i < y.NumElements(); ++i) {
      const int64_t filter = i / (kOutHeight * kOutWidth), row = i / kOutWidth % kOutHeight;
      EXPECT_EQ(y.ValueAt(i), value(filter, row, i % kOutWidth)) << device << " [" << i << "]";
    }
  }
}

TEST(OnnxQuantizedTest, ConvIntegerSumsExactly) {
  OnnxModel m;
  AddOperands(&m);
  SetWindow(&m.Node("ConvInteger", {"x", "w", "x_zero", "w_zero"}, {"y"}, "conv"));
  ExpectOutput(m, [](int64_t filter, int64_t row, int64_t column) { return Expected(filter, row, column); });
}

TEST(OnnxQuantizedTest, QLinearConvScalesAndSaturatesOnce) {
  OnnxModel m;
  AddOperands(&m);
  m.Floats("x_scale", {}, {0.5f});
  m.Floats("w_scale", {6}, {0.25f, 0.5f, 1, 2, 0.125f, 0.25f});
  m.Floats("y_scale", {}, {64});
  Constant(&m, "y_zero", kUint8, {}, {100});
  Constant(&m, "bias", kInt32, {6}, {0, 1000, -1000, 77, 5, -3});
  SetWindow(&m.Node("QLinearConv", {"x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"},
                    {"y"}, "conv"));
  ExpectOutput(m, [](int64_t filter, int64_t row, int64_t column) {
    const double w_scale[] = {0.25, 0.5, 1, 2, 0.125, 0.25}, bias[] = {0, 1000, -1000, 77, 5, -3};
    const double real = (static_cast<double>(Expected(filter, row, column)) + bias[filter]) * 0.5 * w_scale[filter];
    return std::min(255.0, std::max(0.0, std::nearbyint(real / 64) + 100));
  });
}

}  // namespace
}  // namespace plumb
