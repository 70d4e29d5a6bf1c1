// SPDX-License-Identifier: Apache-2.0
// What the operator test cannot see of VULKAN: networks in which layouts meet, how often the queue is used, that
// watching changes nothing, the pipeline cache's files, and the sentences for what is missing or too large. The whole
// binary also runs under the validation layer (CMakeLists.txt), where any message fails the call that follows it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "device/vulkan/vulkan_device.h"
#include "graph/random_inputs.h"
#include "plumb/check.h"
#include "plumb/model.h"
#include "plumb/observer.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

std::shared_ptr<const Graph> Faults() {
  return std::make_shared<const Graph>(LoadModel(PLUMB_TEST_DATA "/faults/faults.tnnproto", {}).value());
}

Tensor InputOf(const Graph& graph) {
  const GraphInput& input = graph.inputs[0];
  return RandomInput(input.name, input.dtype, input.shape, 1, {}).value();
}

struct Opened {
  std::shared_ptr<Device> device;
  std::unique_ptr<Network> network;
  uint64_t submissions() const { return static_cast<vulkan::VulkanDevice&>(*device).submissions(); }
  // Of one Forward.
  uint64_t Forward() const {
    const uint64_t before = submissions();
    const Status status = network->Forward();
    EXPECT_TRUE(status.ok()) << status.ToString();
    return submissions() - before;
  }
};

Opened Open(const std::shared_ptr<const Graph>& graph, bool unfuse = false, Precision precision = Precision::kHigh) {
  Opened opened;
  opened.device = OpenDevice("VULKAN").value();
  NetworkOptions options;
  options.unfuse = unfuse;
  options.precision = precision;
  auto network = Network::Create(graph, opened.device, options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  opened.network = std::move(network).value();
  EXPECT_TRUE(opened.network->SetInput(graph->inputs[0].name, InputOf(*graph)).ok());
  return opened;
}

std::vector<Tensor> OutputsOf(const Opened& opened) {
  std::vector<Tensor> outputs;
  for (const std::string& name : opened.network->graph().outputs)
    outputs.push_back(opened.network->GetOutput(name).value());
  return outputs;
}

void ExpectSameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].bytes(), b[i].bytes());
    EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()), 0) << "output " << i;
  }
}

// Reads every blob of the layers it wants.
class Reader : public Observer {
 public:
  explicit Reader(int wanted) : wanted_(wanted) {}
  bool Wants(const StepInfo& step, int) override { return wanted_ == kAll || step.index == wanted_; }
  Status Before(const LayerEvent& event) override { return event.Input(0).status(); }
  Status After(const LayerEvent& event) override {
    ++seen;
    return event.Output(0).status();
  }
  static constexpr int kAll = -1, kNone = -2;
  int seen = 0;

 private:
  int wanted_;
};

class Shapes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { setenv("PLUMB_VULKAN_SHAPES", GetParam(), 1); }
  void TearDown() override { unsetenv("PLUMB_VULKAN_SHAPES"); }
};

// Every layer by its bound: conversions between layouts, lanes behind the last channel, memory that is shared.
RunReport CheckFaults(bool unfuse, Precision precision) {
  const auto graph = Faults();
  Opened opened = Open(graph, unfuse, precision);
  Checker checker;
  EXPECT_TRUE(checker.Attach(opened.network.get(), {{graph->inputs[0].name, InputOf(*graph)}}).ok());
  opened.Forward();
  RunReport report = checker.Finish().value();
  for (const LayerReport& layer : report.layers) {
    EXPECT_EQ(layer.verdict, Verdict::kAligned)
        << layer.step.name << " on " << layer.step.kernel << ": " << layer.reason;
  }
  return report;
}

TEST_P(Shapes, NetworkIsAligned) {
  for (const bool unfuse : {false, true}) CheckFaults(unfuse, Precision::kHigh);
}

TEST_P(Shapes, NetworkStoresHalves) {
  for (const bool unfuse : {false, true}) {
    const RunReport report = CheckFaults(unfuse, Precision::kNormal);
    int halves = 0;
    for (const LayerReport& layer : report.layers) halves += layer.outputs[0].layout == "NC4HW4 f16";
    EXPECT_GE(halves, 10) << "of " << report.layers.size();
  }
}

TEST_P(Shapes, TakesItsKernels) {
  const std::string wanted = std::string(GetParam()) == "cpu" ? "vulkan/convolution_texel" : "vulkan/convolution_tiled";
  int found = 0;
  const Opened opened = Open(Faults());
  for (const StepInfo* step : opened.network->steps()) found += step->kernel == wanted;
  EXPECT_GE(found, 4);
}

INSTANTIATE_TEST_SUITE_P(Both, Shapes, testing::Values("cpu", "gpu"));

TEST(VulkanShape, RefusesOtherWords) {
  setenv("PLUMB_VULKAN_SHAPES", "tpu", 1);
  const auto network = CreateNetwork(Faults(), "VULKAN", {});
  unsetenv("PLUMB_VULKAN_SHAPES");
  ASSERT_FALSE(network.ok());
  EXPECT_NE(network.status().message().find("PLUMB_VULKAN_SHAPES: expected cpu or gpu, found 'tpu'"), std::string::npos)
      << network.status().message();
}

TEST(VulkanQueue, OneSubmissionWhenNobodyWatches) {
  Opened opened = Open(Faults());
  EXPECT_EQ(opened.Forward(), 1u);
  EXPECT_EQ(opened.Forward(), 1u);
  Reader nobody(Reader::kNone);
  opened.network->AddObserver(&nobody);
  EXPECT_EQ(opened.Forward(), 1u) << "hooks that want nothing cost a submission";
  EXPECT_EQ(nobody.seen, 0);
}

TEST(VulkanQueue, OnlyTheWatchedLayerIsSynchronised) {
  Opened opened = Open(Faults());
  int middle = 0;
  for (const StepInfo* step : opened.network->steps()) middle = step->name == "wide" ? step->index : middle;
  Reader one(middle);
  opened.network->AddObserver(&one);
  EXPECT_EQ(opened.Forward(), 3u);  // before it, itself, behind it
  EXPECT_EQ(one.seen, 1);
}

TEST(VulkanQueue, WatchingChangesNoBit) {
  Opened opened = Open(Faults());
  opened.Forward();
  const std::vector<Tensor> alone = OutputsOf(opened);
  Reader all(Reader::kAll);
  opened.network->AddObserver(&all);
  opened.Forward();
  EXPECT_EQ(static_cast<size_t>(all.seen), opened.network->steps().size());
  ExpectSameBits(alone, OutputsOf(opened));
}

TEST(VulkanQueue, NetworksShareADevice) {
  const auto graph = Faults();
  Opened first = Open(graph);
  const uint64_t expected = first.Forward();
  const std::vector<Tensor> alone = OutputsOf(first);
  Opened second;
  second.device = first.device;
  second.network = Network::Create(graph, first.device, {}).value();
  ASSERT_TRUE(second.network->SetInput(graph->inputs[0].name, InputOf(*graph)).ok());
  ForwardHandle a = first.network->ForwardAsync(), b = second.network->ForwardAsync();
  EXPECT_TRUE(a.Wait().ok());
  EXPECT_TRUE(b.Wait().ok());
  ExpectSameBits(alone, OutputsOf(first));
  ExpectSameBits(alone, OutputsOf(second));
  second.network.reset();
  EXPECT_EQ(first.Forward(), expected);
}

TEST(VulkanErrors, UnknownAdapter) {
  const auto device = OpenDevice("VULKAN", 99);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), StatusCode::kNotFound);
  EXPECT_NE(device.status().message().find("99 is none of them"), std::string::npos) << device.status().message();
}

TEST(VulkanErrors, TooLargeAnAllocation) {
  const auto device = OpenDevice("VULKAN").value();
  const auto buffer = device->Allocate(size_t{1} << 50);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.status().code(), StatusCode::kOutOfMemory);
  EXPECT_NE(buffer.status().message().find("maxMemoryAllocationSize"), std::string::npos) << buffer.status().message();
}

// A process of its own each time: pipelines are kept for the life of one. Argument: the cache's folder. Under the
// validation layer none is written.
int RunChild(const std::string& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return std::system((environment + " PLUMB_VULKAN_VALIDATION=0 '" + self +
                      "' --gtest_filter=VulkanQueue.WatchingChangesNoBit >/dev/null 2>&1")
                         .c_str());
}

TEST(VulkanCache, SurvivesEveryFile) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("plumb_vulkan_cache_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  const std::string with = "PLUMB_CACHE_DIR='" + (folder / "deep").string() + "'";
  ASSERT_EQ(RunChild(with), 0);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder / "deep")) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].filename().string().rfind("vulkan-", 0), 0u);
  EXPECT_EQ(RunChild(with), 0) << "with its own file";
  const auto size = fs::file_size(files[0]);
  for (const uintmax_t length : {uintmax_t{0}, size / 2, size - 1}) {
    fs::resize_file(files[0], length);
    EXPECT_EQ(RunChild(with), 0) << "cut to " << length << " bytes";
  }
  std::ofstream(files[0], std::ios::binary) << "plumb pipeline cache of somebody else\nand more\n"
                                            << std::string(999, 'x');
  EXPECT_EQ(RunChild(with), 0) << "foreign";
  EXPECT_EQ(RunChild("PLUMB_CACHE_DIR=/proc/nowhere"), 0) << "unwritable";
  fs::remove_all(folder);
}

TEST(VulkanLoader, WithoutADriverTheDeviceIsAbsent) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "VK_ICD_FILENAMES=/nowhere.json VK_DRIVER_FILES=/nowhere.json '" + self +
                              "' --gtest_filter=Absent.DISABLED_Says --gtest_also_run_disabled_tests >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// Disabled because it holds only where no driver can be found: the test above runs it so.
TEST(Absent, DISABLED_Says) {
  const auto device = OpenDevice("VULKAN");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), StatusCode::kNotFound) << device.status().ToString();
  EXPECT_NE(device.status().message().find("install"), std::string::npos) << device.status().message();
}

}  // namespace
}  // namespace plumb
