// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution and pooling in NC4HW4, in both kernel shapes: which kernel runs, and every value against NAIVE.
// Widths that fill no strip, channels that fill no quad, windows that cross the border or are too wide for a strip.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "plumb/observer.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

// What one Forward gave: output 0 and, by step, "kernel" or "kernel: detail".
struct Ran {
  Tensor output;
  std::vector<std::string> kernels;
};

Ran RunOn(const Builder& builder, const std::string& device, const NetworkOptions& options) {
  Ran ran;
  auto network = CreateNetwork(builder.graph, device, options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return ran;
  EXPECT_TRUE((*network)->SetInput("x", Random(builder.graph->inputs[0].shape, 7, 1)).ok());
  const Status status = (*network)->Forward();
  EXPECT_TRUE(status.ok()) << status.ToString();
  for (const StepInfo* step : (*network)->steps()) {
    ran.kernels.push_back(step->kernel + (step->detail.empty() ? "" : ": " + step->detail));
  }
  ran.output = (*network)->GetOutput(builder.graph->outputs[0]).value();
  return ran;
}

class Windows : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { setenv("PLUMB_VULKAN_SHAPES", GetParam(), 1); }
  void TearDown() override { unsetenv("PLUMB_VULKAN_SHAPES"); }
  bool gpu() const { return std::string(GetParam()) == "gpu"; }

  // In both precisions; returns the kernels of HIGH.
  std::vector<std::string> ExpectLikeNaive(const Builder& builder) const {
    const Tensor want = RunOn(builder, "NAIVE", {}).output;
    double largest = 0;
    for (int64_t i = 0; i < want.NumElements(); ++i) largest = std::max(largest, std::fabs(want.ValueAt(i)));
    EXPECT_GT(largest, 1e-3);
    std::vector<std::string> kernels;
    for (const Precision precision : {Precision::kNormal, Precision::kHigh}) {
      NetworkOptions options;
      options.precision = precision;
      const Ran ran = RunOn(builder, "VULKAN", options);
      kernels = ran.kernels;
      EXPECT_EQ(ran.output.shape(), want.shape());
      if (ran.output.shape() != want.shape()) continue;
      double worst = 0;
      for (int64_t i = 0; i < want.NumElements(); ++i) {
        worst = std::max(worst, std::fabs(ran.output.ValueAt(i) - want.ValueAt(i)));
      }
      EXPECT_LT(worst, (precision == Precision::kHigh ? 1e-5 : 1e-2) * largest);
    }
    return kernels;
  }
};

TEST_P(Windows, DepthwiseIsLikeNaive) {
  const std::string wanted = gpu() ? "vulkan/depthwise_strip: strips of 4 pixels" : "vulkan/depthwise";
  for (const int channels : {5, 16}) {
    for (const int stride : {1, 2, 3}) {
      for (const int kernel : {2, 3, 5}) {
        SCOPED_TRACE(testing::Message() << channels << " channels, stride " << stride << ", kernel " << kernel);
        Builder b(2, channels, 4 * stride + 5);
        const std::string stem = b.Conv("x", channels, channels, 1);
        b.Simple("ReLU", {b.Constant("Mul", b.Conv(stem, channels, channels, kernel, stride, channels), channels, 2)});
        EXPECT_EQ(ExpectLikeNaive(b).back(), wanted);
      }
    }
  }
}

TEST_P(Windows, DepthwiseAddsAndActivates) {
  const std::string wanted = gpu() ? "vulkan/depthwise_strip: strips of 4 pixels" : "vulkan/depthwise";
  for (const char* activation : {"ReLU6", "Swish"}) {
    Builder b(1, 6, 11);
    const std::string stem = b.Conv("x", 6, 6, 1);
    b.Simple(activation, {b.Simple("Add", {b.Conv(stem, 6, 6, 3, 1, 6), stem})});
    EXPECT_EQ(ExpectLikeNaive(b).back(), wanted) << activation;
  }
}

TEST_P(Windows, TooWideForAStrip) {
  Builder b(1, 8, 30);
  const std::string deep = b.Conv(b.Conv("x", 8, 8, 1), 8, 8, 11, 3, 8);  // 3 strides and 11 taps read 20 inputs
  b.Pool(deep, kPoolMax, 8, 4);                                           // 3 strides of 4 and 8 taps read 20
  const auto kernels = ExpectLikeNaive(b);
  EXPECT_EQ(kernels[1], "vulkan/depthwise");
  EXPECT_EQ(kernels[2], "vulkan/pooling");
}

TEST_P(Windows, PoolingIsLikeNaive) {
  const std::string wanted = gpu() ? "vulkan/pooling: strips of 4 pixels" : "vulkan/pooling";
  for (const int type : {kPoolMax, kPoolAverage}) {
    for (const int stride : {1, 2, 3}) {
      for (const int pad : {0, 1}) {
        for (const bool ceil : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << "type " << type << ", stride " << stride << ", pad " << pad << ", ceil " << ceil);
          Builder b(2, 7, 4 * stride + 4);
          b.Pool(b.Conv("x", 7, 7, 1), type, 3, stride);
          auto& p = static_cast<PoolingParam&>(*b.graph->layers.back().param);
          p.pad_type = kPadExplicit;
          p.pad_h = p.pad_w = pad;
          p.ceil_mode = ceil;
          EXPECT_EQ(ExpectLikeNaive(b).back(), wanted);
        }
      }
    }
  }
}

TEST_P(Windows, AveragesOverPadding) {
  const std::string wanted = gpu() ? "vulkan/pooling: strips of 4 pixels" : "vulkan/pooling";
  for (const bool count : {false, true}) {
    Builder b(2, 7, 12);
    b.Simple("PlumbAveragePool", {b.Conv("x", 7, 7, 1)});
    auto& p = static_cast<PlumbAveragePoolParam&>(*b.graph->layers.back().param);
    p.kernel_h = p.kernel_w = 4, p.stride_h = p.stride_w = 3;
    p.pad_top = 2, p.pad_left = 1, p.pad_right = 2;
    p.ceil_mode = true, p.count_include_pad = count;
    EXPECT_EQ(ExpectLikeNaive(b).back(), wanted) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Windows, testing::Values("cpu", "gpu"));

}  // namespace
}  // namespace plumb
