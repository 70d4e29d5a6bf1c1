// SPDX-License-Identifier: Apache-2.0
// Reduce on a device of ours, into whose kernels a fault is planted.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "device/device.h"
#include "plumb/plumb.h"
#include "plumb/tool/reduce.h"
#include "session/session_test_util.h"

namespace plumb {
namespace {

// A ReLU that makes positive values larger by a thousandth.
class LargerRelu : public Kernel {
 public:
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    for (int64_t i = 0; i < in[0].shape.NumElements(); ++i)
      out[0].host<float>()[i] = std::max(0.0f, in[0].host<float>()[i]) * 1.001f;
    return Status::Ok();
  }
};

Status OfAnyImage(const KernelSpec& spec) { return RequireSingle(spec); }

Status OfManyChannels(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
  constexpr int64_t kChannels = 8;
  return spec.inputs[0].shape.DimOrOne(1) >= kChannels ? Status::Ok() : Status::NotSupported("of 8 channels or more");
}

ReduceOptions OptionsWith(Status (*supports)(const KernelSpec&), const std::string& folder) {
  ReduceOptions options;
  options.device = "NAIVE";
  options.folder = folder;
  options.prepare = [supports](std::shared_ptr<const Graph> graph, const NetworkOptions& network) {
    const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
    device->kernels_in_front = {{"larger", OpKind::kReLU, supports, [](const KernelSpec&) -> std::unique_ptr<Kernel> {
                                   return std::make_unique<LargerRelu>();
                                 }}};
    return Network::Create(std::move(graph), device, network);
  };
  return options;
}

using ReduceDevice = ScratchFolder;

TEST_F(ReduceDevice, AWrongKernelIsOneLayerOfOneValue) {
  ReduceOptions options = OptionsWith(OfAnyImage, At("cases"));
  options.max_cases = 1;
  std::vector<std::string> tried;
  options.tried = [&](const std::string& layer, const ReduceTry& done) { tried.push_back(layer + ": " + done.what); };
  const auto report = Reduce({PLUMB_EXAMPLES "/digits/digits.tnnproto", ""}, {}, options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->wrong_steps, 3);
  ASSERT_EQ(report->cases.size(), 1u);
  const ReducedCase& one = report->cases[0];
  EXPECT_EQ(one.layer, "relu1");
  EXPECT_EQ(one.layers, 1);
  EXPECT_TRUE(one.in_time);
  const auto inputs = ReadTensors(one.folder + "/inputs.npz");
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ((*inputs)[0].tensor.NumElements(), 1) << one.inputs;
  ASSERT_FALSE(tried.empty());
  EXPECT_EQ(tried[0], "relu1: 'relu1' alone, on what it read");
  EXPECT_EQ(tried.size(), one.tries.size());
  EXPECT_TRUE(std::filesystem::exists(one.folder + "/show.sh"));
}

TEST_F(ReduceDevice, WhatTheFaultNeedsIsKept) {
  ReduceOptions options = OptionsWith(OfManyChannels, At("cases"));
  options.network.num_threads = 1;
  options.network.fallback = options.network.direct = true;
  options.network.kernels = {{"conv2", "reference"}};  // of no layer of the case
  options.max_cases = 1;
  const auto report = Reduce({PLUMB_EXAMPLES "/digits/digits.tnnproto", ""}, {}, options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->cases.size(), 1u);
  EXPECT_EQ(report->cases[0].inputs, "conv1 f32 [1,8,1,1]");
  const auto script = ReadFile(report->cases[0].folder + "/show.sh");
  ASSERT_TRUE(script.ok());
  EXPECT_TRUE(Has(std::string(script->text()), "-d NAIVE --threads 1 --fallback --algorithms direct\n"))
      << script->text();
}

TEST_F(ReduceDevice, TimeThatIsUpIsSaid) {
  ReduceOptions options = OptionsWith(OfAnyImage, At("cases"));
  options.seconds = 1e-9;
  const auto report = Reduce({PLUMB_EXAMPLES "/digits/digits.tnnproto", ""}, {}, options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->cases.size(), 3u);
  for (const ReducedCase& one : report->cases) {
    EXPECT_FALSE(one.in_time);
    EXPECT_EQ(one.folder, "");
  }
  EXPECT_NE(FormatReduceText(*report, 200).find("in the time given"), std::string::npos);
}

}  // namespace
}  // namespace plumb
