// SPDX-License-Identifier: Apache-2.0
// Winograd's algorithm on VULKAN: which layers take it and in which tiles, in both kernel shapes; every layer judged by
// the bound of the form that its kernel declares, with what is fused behind it; and that watching changes no bit while
// kernels share the workspace.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "plumb/check.h"
#include "plumb/observer.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

void Set(const char* name, const char* value) {
  if (value == nullptr) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
}

// Environment of one test; null: unset.
struct With {
  With(const char* shapes, const char* winograd) {
    Set("PLUMB_VULKAN_SHAPES", shapes);
    Set("PLUMB_VULKAN_WINOGRAD", winograd);
  }
  ~With() {
    Set("PLUMB_VULKAN_SHAPES", nullptr);
    Set("PLUMB_VULKAN_WINOGRAD", nullptr);
  }
};

std::unique_ptr<Network> Open(const Builder& builder, Precision precision = Precision::kHigh) {
  NetworkOptions options;
  options.precision = precision;
  auto network = CreateNetwork(builder.graph, "VULKAN", options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return nullptr;
  EXPECT_TRUE((*network)->SetInput("x", Random(builder.graph->inputs[0].shape, 7, 1)).ok());
  return std::move(network).value();
}

bool Refused(const Network& network, const char* words) {
  for (const std::string& refusal : network.steps().back()->refusals) {
    if (refusal.find(words) != std::string::npos) return true;
  }
  return false;
}

// The tile that the last step's kernel took, 0 for direct sums.
int TileOf(const Builder& builder) {
  const auto network = Open(builder);
  return network == nullptr ? -1 : network->steps().back()->numerics.tile;
}

int TileOfLayer(int in, int out, int size) {
  Builder b(1, in, size);
  b.Conv("x", in, out, 3);
  return TileOf(b);
}

TEST(VulkanWinograd, TheRuleForDriversOnACpu) {
  const With environment("cpu", nullptr);
  EXPECT_EQ(TileOfLayer(128, 128, 28), 4);
  EXPECT_EQ(TileOfLayer(256, 256, 14), 4);
  EXPECT_EQ(TileOfLayer(512, 512, 7), 2);
  EXPECT_EQ(TileOfLayer(16, 64, 55), 0);
  EXPECT_EQ(TileOfLayer(128, 32, 7), 0);
}

TEST(VulkanWinograd, TheRuleForGpus) {
  const With environment("gpu", nullptr);
  EXPECT_EQ(TileOfLayer(128, 128, 28), 4);
  EXPECT_EQ(TileOfLayer(256, 256, 14), 2);  // 16 tiles of 4 x 4 would fill a quarter of a workgroup's 64
  EXPECT_EQ(TileOfLayer(512, 512, 7), 0);
}

TEST(VulkanWinograd, OnlyWhereItApplies) {
  const With environment("cpu", "4");
  EXPECT_EQ(TileOfLayer(5, 3, 9), 4);
  Builder stride(1, 8, 9), group(1, 16, 9), wide(1, 8, 9);
  stride.Conv("x", 8, 8, 3, 2);
  group.Conv("x", 16, 16, 3, 1, 2);
  wide.Conv("x", 8, 8, 5);
  for (const Builder* builder : {&stride, &group, &wide}) EXPECT_EQ(TileOf(*builder), 0);
  const auto network = Open(group);
  ASSERT_NE(network, nullptr);
  EXPECT_TRUE(Refused(*network, "needs one group, got 2"));
}

TEST(VulkanWinograd, TooLargeForTheAdapter) {
  const With environment("cpu", "4");
  Builder b(1, 4, 1372);  // 36 frequencies of 8 channels of 343 x 343 tiles: more than lavapipe's 128 MiB
  b.Conv("x", 4, 8, 3);
  const auto network = Open(b);
  ASSERT_NE(network, nullptr);
  if (network->steps().back()->numerics.tile > 0) GTEST_SKIP() << "this adapter binds more than 135 MB at once";
  EXPECT_TRUE(Refused(*network, "needs 135531648 bytes between its launches"));
}

TEST(VulkanWinograd, TheEnvironmentWins) {
  for (const char* shapes : {"cpu", "gpu"}) {
    EXPECT_EQ((With(shapes, "off"), TileOfLayer(128, 128, 28)), 0);
    EXPECT_EQ((With(shapes, "2"), TileOfLayer(128, 128, 28)), 2);
    EXPECT_EQ((With(shapes, "4"), TileOfLayer(16, 64, 9)), 4);
  }
  const With environment("cpu", "6");
  Builder b(1, 8, 9);
  b.Conv("x", 8, 8, 3);
  const auto network = CreateNetwork(b.graph, "VULKAN", {});
  ASSERT_FALSE(network.ok());
  EXPECT_NE(network.status().message().find("PLUMB_VULKAN_WINOGRAD: expected off, 2 or 4, found '6'"),
            std::string::npos)
      << network.status().message();
}

// Two of the algorithm behind each other, an addition that is fused, and channels and pixels that fill nothing.
Builder Residual(const char* activation) {
  Builder b(2, 9, 13);
  const std::string stem = b.Conv("x", 9, 21, 3, 1, 1, kActivationReLU);
  b.Simple(activation, {b.Simple("Add", {b.Conv(stem, 21, 21, 3), stem})});
  return b;
}

class Forms : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  With environment_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

TEST_P(Forms, IsAlignedByItsOwnBound) {
  for (const char* activation : {"ReLU", "ReLU6", "Swish"}) {
    for (const Precision precision : {Precision::kHigh, Precision::kNormal}) {
      SCOPED_TRACE(testing::Message() << activation << (precision == Precision::kHigh ? " HIGH" : " NORMAL"));
      const Builder builder = Residual(activation);
      const auto network = Open(builder, precision);
      ASSERT_NE(network, nullptr);
      Checker checker;
      ASSERT_TRUE(checker.Attach(network.get(), {{"x", Random(builder.graph->inputs[0].shape, 7, 1)}}).ok());
      ASSERT_TRUE(network->Forward().ok());
      const RunReport report = checker.Finish().value();
      ASSERT_EQ(report.layers.size(), 2u);
      for (const LayerReport& layer : report.layers) {
        EXPECT_EQ(std::to_string(layer.step.numerics.tile), std::get<1>(GetParam())) << layer.step.kernel;
        EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.step.name << ": " << layer.reason;
      }
    }
  }
}

class Reader : public Observer {
 public:
  bool Wants(const StepInfo&, int) override { return true; }
  Status After(const LayerEvent& event) override { return event.Output(0).status(); }
};

TEST_P(Forms, WatchingChangesNoBit) {
  const Builder builder = Residual("ReLU");
  const auto network = Open(builder);
  ASSERT_NE(network, nullptr);
  ASSERT_TRUE(network->Forward().ok());
  const Tensor alone = network->GetOutput(builder.graph->outputs[0]).value().Clone().value();
  Reader reader;
  network->AddObserver(&reader);
  ASSERT_TRUE(network->Forward().ok());
  const Tensor watched = network->GetOutput(builder.graph->outputs[0]).value();
  EXPECT_EQ(std::memcmp(alone.raw(), watched.raw(), alone.bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Forms, testing::Combine(testing::Values("cpu", "gpu"), testing::Values("2", "4")));

}  // namespace
}  // namespace plumb
