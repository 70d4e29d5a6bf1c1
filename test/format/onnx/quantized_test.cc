// SPDX-License-Identifier: Apache-2.0
// ConvInteger and QLinearConv beside plain loops: groups, strides, dilations, one-sided pads, a zero point per channel,
// bias. Linear layers as quantize_dynamic writes them, which X86 computes in one step to NAIVE's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/cpu.h"
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

// One input channel per filter, at the extremes: 0 and 255 beside -128 and a zero point of 127.
TEST(OnnxQuantizedTest, DepthwiseConvIntegerSumsExactly) {
  constexpr int64_t kChannels = 3, kSize = 20, kKernel = 15, kOut = kSize - kKernel + 1;
  OnnxModel m;
  m.Input("x", {1, kChannels, kSize, kSize}, kUint8).Output("y");
  std::vector<int64_t> weights;
  for (int64_t i = 0; i < kChannels * kKernel * kKernel; ++i)
    weights.push_back(i < kKernel * kKernel ? -128 : WeightAt(i));
  Constant(&m, "w", kInt8, {kChannels, 1, kKernel, kKernel}, weights);
  Constant(&m, "x_zero", kUint8, {}, {0});
  Constant(&m, "w_zero", kInt8, {kChannels}, {127, -3, 0});
  OnnxModel::SetInt(&m.Node("ConvInteger", {"x", "w", "x_zero", "w_zero"}, {"y"}, "conv"), "group", kChannels);
  const auto imported = m.Import();
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto graph = std::make_shared<const Graph>(*imported);
  Tensor x = Tensor::Create(DType::kI64, graph->inputs[0].shape).value();
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<int64_t>()[i] = i < kSize * kSize ? 255 : InputAt(i);
  const int64_t zeros[] = {127, -3, 0};
  for (const char* device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const auto network = CreateNetwork(graph, device, {});
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    ASSERT_TRUE((*network)->SetInput("x", x).ok());
    ASSERT_TRUE((*network)->Forward().ok());
    const Tensor y = (*network)->GetOutput("y").value();
    ASSERT_EQ(y.dtype(), DType::kI32);
    ASSERT_EQ(y.shape(), (Shape{1, kChannels, kOut, kOut}));
    for (int64_t i = 0; i < y.NumElements(); ++i) {
      const int64_t c = i / (kOut * kOut), row = i / kOut % kOut, column = i % kOut;
      int64_t sum = 0;
      for (int64_t k = 0; k < kKernel * kKernel; ++k) {
        const int64_t at = (c * kSize + row + k / kKernel) * kSize + column + k % kKernel;
        sum += x.data<int64_t>()[at] * (weights[static_cast<size_t>(c * kKernel * kKernel + k)] - zeros[c]);
      }
      ASSERT_EQ(y.ValueAt(i), static_cast<double>(sum)) << device << " [" << i << "]";
    }
  }
}

// x [2, 9, size] is quantised as it comes, multiplied with 8-bit weights, scaled and shifted.
OnnxModel DynamicLinear(int64_t size, int64_t outputs, bool per_column) {
  OnnxModel m;
  m.Input("x", {2, 9, size}).Output("y");
  std::vector<int64_t> weights, zeros;
  std::vector<float> scales, shifts;
  for (int64_t i = 0; i < size * outputs; ++i) weights.push_back(i % 3 == 0 ? -128 : WeightAt(i));
  for (int64_t i = 0; i < (per_column ? outputs : 1); ++i) {
    zeros.push_back(i * 5 % 21 - 10);
    scales.push_back(0.01f + 0.001f * static_cast<float>(i));
  }
  for (int64_t i = 0; i < outputs; ++i) shifts.push_back(0.3f * static_cast<float>(i) - 2);
  const auto count = static_cast<int64_t>(zeros.size());
  Constant(&m, "w", kInt8, {size, outputs}, weights);
  Constant(&m, "w_zero", kInt8, {count}, zeros);
  m.Floats("w_scale", {count}, scales);
  m.Floats("shift", {outputs}, shifts);
  m.Node("DynamicQuantizeLinear", {"x"}, {"q", "x_scale", "x_zero"}, "quantize");
  m.Node("MatMulInteger", {"q", "w", "x_zero", "w_zero"}, {"sums"}, "product");
  OnnxModel::SetInt(&m.Node("Cast", {"sums"}, {"real"}, "cast"), "to", 1);
  m.Node("Mul", {"x_scale", "w_scale"}, {"scale"}, "scales");
  m.Node("Mul", {"real", "scale"}, {"scaled"}, "scaling");
  m.Node("Add", {"shift", "scaled"}, {"y"}, "shifting");
  return m;
}

// The same of a convolution of 2 groups, whose sums are reshaped before they are scaled per channel.
OnnxModel DynamicConvolution(bool per_channel) {
  OnnxModel m;
  m.Input("x", {2, 4, 9, 11}).Output("y");
  std::vector<int64_t> weights;
  for (int64_t i = 0; i < 6 * 2 * 3 * 3; ++i) weights.push_back(WeightAt(i));
  Constant(&m, "w", kInt8, {6, 2, 3, 3}, weights);
  Constant(&m, "w_zero", kInt8, {}, {3});
  if (per_channel) {
    m.Floats("w_scale", {1, 6, 1, 1}, {0.1f, 0.2f, 0.3f, 0.04f, 0.5f, 0.06f});
  } else {
    m.Floats("w_scale", {1}, {0.02f});
  }
  m.Floats("shift", {1, 6, 1, 1}, {1, -2, 0.3f, 4, -5, 0.6f});
  m.Node("DynamicQuantizeLinear", {"x"}, {"q", "x_scale", "x_zero"}, "quantize");
  ::onnx::NodeProto& conv = m.Node("ConvInteger", {"q", "w", "x_zero", "w_zero"}, {"sums"}, "conv");
  OnnxModel::SetInt(&conv, "group", 2);
  OnnxModel::SetInts(&conv, "pads", {1, 1, 1, 1});
  OnnxModel::SetInt(&m.Node("Cast", {"sums"}, {"real"}, "cast"), "to", 1);
  m.Node("Mul", {"x_scale", "w_scale"}, {"scale"}, "scales");
  m.Node("Mul", {"real", "scale"}, {"scaled"}, "scaling");
  m.Node("Add", {"scaled", "shift"}, {"y"}, "shifting");
  return m;
}

Result<Tensor> RunOnto(const std::shared_ptr<const Graph>& graph, const char* device,
                       std::vector<std::string>* kernels) {
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(graph, device, {}));
  PLUMB_ASSIGN_OR_RETURN(Tensor x, Tensor::Create(DType::kF32, graph->inputs[0].shape));
  for (int64_t i = 0; i < x.NumElements(); ++i)
    x.data<float>()[i] = std::sin(static_cast<float>(i)) * (i % 7 == 0 ? 3.0f : 1.0f);
  PLUMB_RETURN_IF_ERROR(network->SetInput("x", x));
  PLUMB_RETURN_IF_ERROR(network->Forward());
  for (const StepInfo* step : network->steps()) {
    if (step->members.size() > 1) kernels->push_back(step->kernel);
  }
  return network->GetOutput("y");
}

TEST(OnnxQuantizedTest, DynamicLinearLayersAreOneStepOfTheSameBits) {
  if (!OpenDevice("X86").ok()) GTEST_SKIP() << "X86 is not built in";
  for (const char* isa : {"SSE41", "AVX2", "AVX512"}) {
    ASSERT_TRUE(SetMaxIsa(isa).ok());
    for (const int64_t size : {1, 300, 2049}) {
      for (const int64_t outputs : {1, 35, 48}) {
        for (const bool per_column : {false, true}) {
          const auto imported = DynamicLinear(size, outputs, per_column).Import();
          ASSERT_TRUE(imported.ok()) << imported.status().ToString();
          const auto graph = std::make_shared<const Graph>(*imported);
          std::vector<std::string> none, fused;
          const auto want = RunOnto(graph, "NAIVE", &none), got = RunOnto(graph, "X86", &fused);
          ASSERT_TRUE(want.ok() && got.ok()) << want.status().ToString() << got.status().ToString();
          EXPECT_EQ(fused, std::vector<std::string>{"x86/matmul_integer"});
          for (int64_t i = 0; i < want->NumElements(); ++i) {
            ASSERT_EQ(got->data<float>()[i], want->data<float>()[i])
                << isa << " size " << size << " outputs " << outputs << " [" << i << "]";
          }
        }
      }
    }
  }
  ASSERT_TRUE(SetMaxIsa("").ok());
}

TEST(OnnxQuantizedTest, DynamicConvolutionsAreScaledInTheSameStep) {
  if (!OpenDevice("X86").ok()) GTEST_SKIP() << "X86 is not built in";
  for (const bool per_channel : {false, true}) {
    const auto imported = DynamicConvolution(per_channel).Import();
    ASSERT_TRUE(imported.ok()) << imported.status().ToString();
    const auto graph = std::make_shared<const Graph>(*imported);
    std::vector<std::string> none, fused;
    const auto want = RunOnto(graph, "NAIVE", &none), got = RunOnto(graph, "X86", &fused);
    ASSERT_TRUE(want.ok() && got.ok()) << want.status().ToString() << got.status().ToString();
    EXPECT_EQ(fused, std::vector<std::string>{"x86/matmul_integer"});
    for (int64_t i = 0; i < want->NumElements(); ++i) ASSERT_EQ(got->data<float>()[i], want->data<float>()[i]) << i;
  }
}

}  // namespace
}  // namespace plumb
