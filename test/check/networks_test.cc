// SPDX-License-Identifier: Apache-2.0
// The five float networks raise no alarm on any device present, and none of their layers runs oneDNN's reference loops.
// PLUMB_TEST_SEEDS=N runs seeds 1..N (default 1); the ISA cap comes from PLUMB_MAX_CPU_ISA. Prints the largest E and R
// of all layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/cpu.h"
#include "device/device.h"
#include "graph/random_inputs.h"
#include "plumb/check.h"
#include "plumb/model.h"
#include "plumb/plumb.h"
#include "util/seeds.h"

namespace plumb {
namespace {

// PLUMB_TEST_DEVICE=X86 leaves the others out: an ISA cap means nothing to them.
bool UnderTest(const std::string& device) {
  const char* only = std::getenv("PLUMB_TEST_DEVICE");
  return device != "NAIVE" && (only == nullptr || device == only);
}

class Networks : public testing::TestWithParam<const char*> {};

RunReport Check(const std::string& path, const std::string& device, uint64_t seed, Precision precision) {
  LoadOptions options;
  options.seed = seed;
  NetworkOptions network_options;
  network_options.precision = precision;
  auto graph = std::make_shared<const Graph>(LoadModel(path, options).value());
  auto network = CreateNetwork(graph, device, network_options);
  EXPECT_TRUE(network.ok()) << network.status().message();
  const GraphInput& input = graph->inputs[0];
  const Tensor value = RandomInput(input.name, input.dtype, input.shape, seed, {}).value();
  CheckOptions check;
  check.inherited = false;
  Checker checker(check);
  EXPECT_TRUE(checker.Attach(network->get(), {{input.name, value}}).ok());
  EXPECT_TRUE((*network)->SetInput(input.name, value).ok());
  EXPECT_TRUE((*network)->Forward().ok());
  return checker.Finish().value();
}

TEST_P(Networks, RaisesNoAlarm) {
  const std::string path = std::string(PLUMB_TEST_DATA "/networks/") + GetParam() + ".tnnproto";
  for (const DeviceInfo& info : ListDevices()) {
    if (!info.present || !UnderTest(info.name)) continue;
    const auto device = OpenDevice(info.name).value();
    for (const Precision precision : {Precision::kHigh, Precision::kNormal}) {
      if (device->EffectivePrecision(precision) != precision) continue;
      double e = 0, r = 0;
      for (uint32_t seed = 1; seed <= SeedsUnderTest(1); ++seed) {
        const RunReport report = Check(path, info.name, seed, precision);
        for (const LayerReport& layer : report.layers) {
          const OutputReport* worst = layer.Worst();
          ASSERT_NE(worst, nullptr) << layer.step.name << ": " << layer.reason;
          EXPECT_EQ(layer.verdict, Verdict::kAligned)
              << info.name << " seed " << seed << " " << layer.step.name << " E " << worst->excess << " R "
              << worst->rms_excess << " " << layer.reason;
          EXPECT_EQ(layer.step.detail.find("ref"), std::string::npos)  // oneDNN's plain loops
              << info.name << " " << layer.step.name << " runs " << layer.step.kernel << " " << layer.step.detail;
          e = std::max(e, worst->excess);
          r = std::max(r, worst->rms_excess);
        }
      }
      std::printf("%s %s %s%s: largest E %.3g, largest R %.3g over %u seeds\n", GetParam(), info.name.c_str(),
                  IsaName(), precision == Precision::kHigh ? "" : " NORMAL", e, r, SeedsUnderTest(1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Five, Networks,
                         testing::Values("squeezenet_v1.0", "mobilenet_v1", "resnet50", "inception_v3", "densenet"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace plumb
