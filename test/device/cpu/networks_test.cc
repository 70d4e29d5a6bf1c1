// SPDX-License-Identifier: Apache-2.0
// The five float networks of test/data/networks as the CPU devices prepare them: everything fuses that can, joins run
// in place, and no layer falls to one of oneDNN's reference kernels, which may be a thousand times slower.
#include <gtest/gtest.h>

#include <memory>

#include "cpu_name.h"
#include "device/cpu/product.h"
#include "plumb/model.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

struct Case {
  const char* name;
  size_t steps;      // after fusion
  size_t strides;    // depthwise convolutions with a stride that join a band where no product leads
  double megabytes;  // of planned memory, at most
};

class CpuNetworks : public testing::TestWithParam<Case> {};

TEST_P(CpuNetworks, ArePreparedWell) {
  const std::string path = std::string(PLUMB_TEST_DATA) + "/networks/" + GetParam().name + ".tnnproto";
  auto graph = LoadModel(path);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  auto network = CreateNetwork(std::make_shared<Graph>(std::move(*graph)), kCpuDevice, {});
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const auto steps = (*network)->steps();
  EXPECT_EQ(steps.size(), GetParam().steps - (cpu::ProductsLeadDepthwise(28 * 28) ? 0 : GetParam().strides));
  for (const StepInfo* step : steps) {
    EXPECT_EQ(step->kernel.rfind(kCpuPrefix, 0), 0u) << step->name << " runs on " << step->kernel;
    EXPECT_NE(step->detail.rfind("ref", 0), 0u) << step->name << " runs " << step->detail;
  }
  EXPECT_LE(static_cast<double>((*network)->arena_bytes()) / 1e6, GetParam().megabytes);
}

INSTANTIATE_TEST_SUITE_P(Five, CpuNetworks,
                         testing::Values(Case{"squeezenet_v1.0", 39, 0, 7.5}, Case{"resnet50", 58, 0, 7},
                                         Case{"mobilenet_v1", 27, 2, 6}, Case{"inception_v3", 126, 0, 11.5},
                                         Case{"densenet", 186, 0, 9.5}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace plumb
