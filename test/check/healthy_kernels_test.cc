// SPDX-License-Identifier: Apache-2.0
// The CPU device's fused layers on values that are hard to bound; none is called wrong or grey. Sums begin with what is
// far larger than their products: a device may add the residual first, and rounds at its magnitude from then on.
// Constants that follow each other are folded, and cancel.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "device/cpu/cpu_name.h"
#include "plumb/check.h"
#include "plumb/plumb.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

struct Residual {
  const char* name;
  int channels, outputs, kernel, stride, group;
  int64_t size;
};

const Residual kResiduals[] = {{"points", 256, 64, 1, 1, 1, 14},      {"points_7x7", 512, 64, 1, 1, 1, 7},
                               {"points_56x56", 64, 40, 1, 1, 1, 56}, {"points_stride2", 256, 48, 1, 2, 1, 14},
                               {"taps", 48, 48, 3, 1, 1, 14},         {"taps_stride2", 64, 64, 3, 2, 1, 28},
                               {"taps_5x5", 32, 32, 5, 1, 1, 14},     {"first", 3, 64, 3, 2, 1, 56},
                               {"groups", 128, 128, 3, 1, 4, 28},     {"depthwise", 64, 64, 3, 1, 64, 28},
                               {"rest", 30, 50, 3, 1, 1, 17}};

void ExpectAligned(const Builder& b, const std::map<std::string, Tensor>& inputs) {
  auto network = CreateNetwork(b.graph, kCpuDevice).value();
  Checker checker;
  ASSERT_TRUE(checker.Attach(network.get(), inputs).ok());
  for (const auto& [name, value] : inputs) ASSERT_TRUE(network->SetInput(name, value).ok());
  ASSERT_TRUE(network->Forward().ok());
  for (const LayerReport& layer : checker.Finish().value().layers) {
    EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.step.kernel << ": " << layer.reason;
    for (const OutputReport& output : layer.outputs) EXPECT_LT(output.rms_excess, 1) << layer.step.kernel;
  }
}

class HealthyResidual : public testing::TestWithParam<Residual> {};

TEST_P(HealthyResidual, IsAligned) {
  const Residual& r = GetParam();
  const int64_t side = (r.size + r.stride - 1) / r.stride;
  Builder b(1, r.channels, r.size);
  b.graph->inputs.push_back({"residual", DType::kF32, {1, r.outputs, side, side}});
  const std::string conv = b.Conv("x", r.channels, r.outputs, r.kernel, r.stride, r.group);
  b.Simple("ReLU", {b.Simple("Add", {conv, "residual"})});
  const std::map<std::string, Tensor> inputs = {{"x", Random({1, r.channels, r.size, r.size}, 3, 1e-2F)},
                                                {"residual", Random({1, r.outputs, side, side}, 4, 1e3F)}};
  ExpectAligned(b, inputs);
}

// A bias of its own node and a residual that nearly cancel it: a device may begin its sums with either, and add the
// other at the end.
TEST_P(HealthyResidual, ThatCancelsABiasIsAligned) {
  const Residual& r = GetParam();
  const int64_t side = (r.size + r.stride - 1) / r.stride;
  Builder b(1, r.channels, r.size);
  b.graph->inputs.push_back({"residual", DType::kF32, {1, r.outputs, side, side}});
  const std::string conv =
      b.Constant("Add", b.Conv("x", r.channels, r.outputs, r.kernel, r.stride, r.group), r.outputs, 1e3F);
  const Tensor bias = b.graph->layers.back().resources.at("element");
  b.Simple("Add", {conv, "residual"});
  Tensor residual = Random({1, r.outputs, side, side}, 4, 1);
  for (int64_t i = 0; i < residual.NumElements(); ++i)
    residual.data<float>()[i] -= bias.data<float>()[i / (side * side)];
  ExpectAligned(b, {{"x", Random({1, r.channels, r.size, r.size}, 3, 1)}, {"residual", residual}});
}

INSTANTIATE_TEST_SUITE_P(Layers, HealthyResidual, testing::ValuesIn(kResiduals),
                         [](const auto& info) { return std::string(info.param.name); });

// x + a + b where x is near -a and b is small: folded, the constants' sum is rounded, and that is the larger error.
TEST(HealthyConstants, ThatCancelAreAligned) {
  for (const bool scaled : {false, true}) {
    Builder b(1, 24, 30);
    const std::string sum = b.Constant("Add", b.Constant("Add", "x", 24, 1), 24, 1e-3F);
    if (scaled) b.Constant("Mul", sum, 24, 10);
    Tensor x = Random({1, 24, 30, 30}, 3, 1);
    for (int64_t i = 0; i < x.NumElements(); i += 2)
      x.data<float>()[i] = -b.graph->layers[0].resources["element"].data<float>()[i / 900];
    ExpectAligned(b, {{"x", x}});
  }
}

}  // namespace
}  // namespace plumb
