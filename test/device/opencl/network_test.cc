// SPDX-License-Identifier: Apache-2.0
// Networks on OPENCL against NAIVE: fusion, channel blocks, in-place concatenation and residual sums, with channel
// counts that do and do not fill their blocks; both storages, and both kernel shapes (the ctest entry with
// PLUMB_OPENCL_SHAPES=gpu). Watching changes no bit, and costs nothing where nobody watches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "device/opencl/device.h"
#include "plumb/check.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

using Names = std::vector<std::string>;

bool Missing() { return !OpenDevice("OPENCL").ok(); }
#define PLUMB_NEEDS_OPENCL() \
  if (Missing()) GTEST_SKIP() << OpenDevice("OPENCL").status().message()

std::unique_ptr<Network> Prepare(const Builder& builder, const std::string& device, const NetworkOptions& options) {
  auto network = CreateNetwork(builder.graph, device, options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return nullptr;
  EXPECT_TRUE((*network)->SetInput("x", Random(builder.graph->inputs[0].shape, 7, 1)).ok());
  return std::move(network).value();
}

Tensor RunTwice(Network* network) {
  for (int forward = 0; forward < 2; ++forward) {
    const Status status = network->Forward();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return network->GetOutput(network->graph().outputs[0]).value();
}

// Fused and unfused, f32 and f16, must agree with NAIVE; returns the kernels of the fused network.
Names ExpectLikeNaive(const Builder& builder) {
  const Tensor want = RunTwice(Prepare(builder, "NAIVE", {}).get());
  double largest = 0;
  for (int64_t i = 0; i < want.NumElements(); ++i) largest = std::max(largest, std::fabs(want.ValueAt(i)));
  EXPECT_GT(largest, 1e-4);
  Names kernels;
  for (const Precision precision : {Precision::kNormal, Precision::kHigh}) {
    for (const bool unfuse : {true, false}) {
      SCOPED_TRACE(std::string(precision == Precision::kHigh ? "f32" : "f16") + (unfuse ? ", unfused" : ", fused"));
      NetworkOptions options;
      options.precision = precision;
      options.unfuse = unfuse;
      const auto network = Prepare(builder, "OPENCL", options);
      if (network == nullptr) continue;
      const Tensor got = RunTwice(network.get());
      EXPECT_EQ(got.shape(), want.shape());
      double worst = 0;
      for (int64_t i = 0; i < want.NumElements(); ++i)
        worst = std::max(worst, std::fabs(got.ValueAt(i) - want.ValueAt(i)));
      EXPECT_LT(worst, (precision == Precision::kHigh ? 1e-5 : 1e-2) * largest);
      kernels.clear();
      for (const StepInfo* step : network->steps()) kernels.push_back(step->kernel);
    }
  }
  return kernels;
}

Builder ResidualBlock(int64_t batch) {
  Builder b(batch, 3, 19);
  const std::string stem = b.Pool(b.Simple("ReLU", {b.Conv("x", 3, 40, 3, 2)}), kPoolMax, 3, 2);
  const std::string middle = b.Simple("ReLU", {b.Conv(stem, 40, 24, 1)});
  const std::string sum = b.Simple("ReLU", {b.Simple("Add", {b.Conv(middle, 24, 40, 3), stem})});
  const std::string other = b.Conv(sum, 40, 40, 1);
  b.Simple("ReLU", {b.Simple("Add", {other, b.Conv(sum, 40, 40, 3)})});
  return b;
}

Builder WinogradBlock() {
  Builder b(2, 43, 19);
  const std::string scaled = b.Constant("Add", b.Constant("Mul", b.Conv("x", 43, 43, 3), 43, 2), 43, 1);
  const std::string sum = b.Simple("ReLU", {b.Simple("Add", {scaled, "x"})});
  const std::string more = b.Simple("ReLU6", {b.Conv(sum, 43, 37, 3)});
  b.Conv(b.Conv(more, 37, 40, 3), 40, 24, 1);
  return b;
}

TEST(OpenclNetwork, FusesResidualBlock) {
  PLUMB_NEEDS_OPENCL();
  for (const int64_t batch : {1, 3}) {
    EXPECT_EQ(ExpectLikeNaive(ResidualBlock(batch)),
              (Names{"opencl/convolution_blocked", "opencl/pooling", "opencl/convolution_blocked",
                     "opencl/convolution_blocked", "opencl/convolution_blocked", "opencl/convolution_blocked"}));
  }
}

TEST(OpenclNetwork, FoldsScalesAndJoinsClamps) {
  PLUMB_NEEDS_OPENCL();
  Builder b(2, 5, 9);
  const std::string scaled = b.Constant("Add", b.Constant("Mul", b.Conv("x", 5, 20, 3), 20, 2), 20, 1);
  b.Simple("ReLU6", {b.Simple("ReLU", {b.Conv(b.Simple("ReLU", {scaled}), 20, 9, 1, 1, 1, kActivationReLU)})});
  EXPECT_EQ(ExpectLikeNaive(b), (Names{"opencl/convolution_blocked", "opencl/convolution_blocked"}));
}

TEST(OpenclNetwork, RunsDepthwiseAndGroups) {
  PLUMB_NEEDS_OPENCL();
  for (const int channels : {5, 40}) {
    for (const int stride : {1, 2}) {
      Builder b(2, channels, channels == 5 ? 9 : 23);
      b.Simple("ReLU6", {b.Constant("Mul", b.Conv("x", channels, channels, 3, stride, channels), channels, 2)});
      EXPECT_EQ(ExpectLikeNaive(b), (Names{"opencl/depthwise_blocked"}));
    }
  }
  Builder blocks(1, 16, 9);
  blocks.Conv("x", 16, 32, 3, 1, 2);
  EXPECT_EQ(ExpectLikeNaive(blocks), (Names{"opencl/convolution_blocked"}));
  Builder cut(1, 6, 9);  // groups cut blocks: plain order
  cut.Conv("x", 6, 12, 3, 1, 3);
  EXPECT_EQ(ExpectLikeNaive(cut), (Names{"opencl/convolution_plain"}));
}

// Heights that do and do not fill the strips of rows of the GPU shape (4), fewer rows than one strip among them; in
// channel blocks.
TEST(OpenclNetwork, RunsDepthwiseAndPoolingOfAnyHeight) {
  PLUMB_NEEDS_OPENCL();
  for (const int size : {3, 8, 13}) {
    for (const int stride : {1, 2}) {
      for (const int type : {kPoolMax, kPoolAverage}) {
        SCOPED_TRACE("size " + std::to_string(size) + ", stride " + std::to_string(stride) + ", pool type " +
                     std::to_string(type));
        Builder b(2, 11, size);
        const std::string sum = b.Simple("Add", {b.Conv("x", 11, 11, 5, 1, 11), b.Conv("x", 11, 11, 3, 1, 11)});
        b.Conv(b.Pool(sum, type, 3, stride), 11, 11, 3, stride, 11, kActivationReLU);
        EXPECT_EQ(ExpectLikeNaive(b), (Names{"opencl/depthwise_blocked", "opencl/depthwise_blocked", "opencl/pooling",
                                             "opencl/depthwise_blocked"}));
      }
    }
  }
}

// Where Winograd's algorithm pays, with everything that fuses behind it; maps and channels that do not fill tiles and
// blocks.
TEST(OpenclNetwork, FusesIntoWinograd) {
  PLUMB_NEEDS_OPENCL();
  const auto device = OpenDevice("OPENCL").value();
  if (!opencl::Launcher::CpuShapes(device.get())) GTEST_SKIP() << "for CPU drivers";
  const Builder builder = WinogradBlock();
  EXPECT_EQ(ExpectLikeNaive(builder), (Names{"opencl/convolution_winograd", "opencl/convolution_winograd",
                                             "opencl/convolution_winograd", "opencl/convolution_blocked"}));
  for (const Precision precision : {Precision::kHigh, Precision::kNormal}) {
    NetworkOptions options;
    options.precision = precision;
    const auto network = Prepare(builder, "OPENCL", options);
    Checker checker;
    ASSERT_TRUE(checker.Attach(network.get(), {{"x", Random(builder.graph->inputs[0].shape, 7, 1)}}).ok());
    ASSERT_TRUE(network->Forward().ok());
    const RunReport report = checker.Finish().value();
    EXPECT_EQ(report.Count(Verdict::kAligned), 4);
    EXPECT_EQ(report.layers[0].step.detail, "winograd F(4x4,3x3) points 0 1 -1 2 -2");
  }
}

// 72 MB of transformed inputs: direct.
TEST(OpenclNetwork, TooLargeAWorkspaceIsComputedDirectly) {
  PLUMB_NEEDS_OPENCL();
  Builder b(1, 8, 1000);
  b.Conv("x", 8, 8, 3);
  const auto network = CreateNetwork(b.graph, "OPENCL", {}).value();
  const StepInfo& step = *network->steps()[0];
  EXPECT_EQ(step.kernel, "opencl/convolution_blocked");
  const auto& refusals = step.refusals;
  const bool cpu = opencl::Launcher::CpuShapes(&network->device());
  EXPECT_TRUE(std::any_of(refusals.begin(), refusals.end(), [&](const std::string& text) {
    return text.find(cpu ? "needs a workspace of 72002304 bytes" : "is for CPU drivers") != std::string::npos;
  }));
}

// As in densely connected networks: nested concatenations, each read by a scaled branch too.
TEST(OpenclNetwork, ConcatenatesInPlace) {
  PLUMB_NEEDS_OPENCL();
  for (const int growth : {16, 12}) {  // 12 channels do not fill a block: copied
    Builder b(2, 3, 8);
    std::string all = b.Conv("x", 3, 2 * growth, 3);
    int channels = 2 * growth;
    for (int i = 0; i < 3; ++i, channels += growth) {
      const std::string scaled = b.Constant("Add", b.Constant("Mul", all, channels, 1.5f), channels, 0.5f);
      all = b.Simple("Concat", {all, b.Conv(b.Simple("ReLU", {scaled}), channels, growth, 3)});
    }
    b.Pool(all, kPoolAverage, 0, 1);
    ExpectLikeNaive(b);
  }
}

TEST(OpenclNetwork, ClassifiesAndMixesForms) {
  PLUMB_NEEDS_OPENCL();
  Builder b(2, 3, 16);
  const std::string wide = b.Conv(b.Conv("x", 3, 24, 3, 2, 1, kActivationReLU), 24, 24, 3, 1, 24, kActivationReLU6);
  const std::string mixed = b.Simple("Add", {wide, b.Conv(wide, 24, 24, 3, 1, 8)});  // groups of 3 channels: plain
  const std::string swish = b.Simple("Sigmoid", {b.Conv(mixed, 24, 37, 1)});  // f(0) is not 0 behind the last channel
  b.Simple("Softmax", {b.FullyConnected(b.Pool(b.Conv(swish, 37, 37, 3), kPoolAverage, 0, 1), 37, 101)});
  ExpectLikeNaive(b);
}

// The convolution reads the blob that is added: it must not be overwritten.
TEST(OpenclNetwork, AddsItsOwnInput) {
  PLUMB_NEEDS_OPENCL();
  Builder b(1, 16, 9);
  const std::string stem = b.Conv("x", 16, 16, 1);
  b.Simple("ReLU", {b.Simple("Add", {stem, b.Conv(stem, 16, 16, 3)})});
  ExpectLikeNaive(b);
}

// Looks at every step, or at none.
class Watcher : public Observer {
 public:
  explicit Watcher(bool wants) : wants_(wants) {}
  bool Wants(const StepInfo&, int) override { return wants_; }
  Status After(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().outputs.size(); ++i) PLUMB_RETURN_IF_ERROR(event.Output(i).status());
    return Status::Ok();
  }

 private:
  bool wants_;
};

TEST(OpenclNetwork, WatchingChangesNoBit) {
  PLUMB_NEEDS_OPENCL();
  for (const Builder& builder : {ResidualBlock(1), WinogradBlock()}) {
    for (const Precision precision : {Precision::kHigh, Precision::kNormal}) {
      NetworkOptions options;
      options.precision = precision;
      const auto alone = Prepare(builder, "OPENCL", options), watched = Prepare(builder, "OPENCL", options);
      Watcher watcher(true);
      watched->AddObserver(&watcher);
      const Tensor a = RunTwice(alone.get()), b = RunTwice(watched.get());
      ASSERT_EQ(a.bytes(), b.bytes());
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
    }
  }
}

TEST(OpenclNetwork, HooksCostNoSubmission) {
  PLUMB_NEEDS_OPENCL();
  const auto submissions = [](Network* network) {
    auto& queue = static_cast<opencl::OpenclDevice&>(network->device()).queue();
    const int before = queue.submissions();
    EXPECT_TRUE(network->Forward().ok());
    return queue.submissions() - before;
  };
  const auto alone = Prepare(ResidualBlock(1), "OPENCL", {});
  EXPECT_EQ(submissions(alone.get()), 1);
  Watcher nobody(false), everybody(true);
  alone->AddObserver(&nobody);
  EXPECT_EQ(submissions(alone.get()), 1);
  alone->AddObserver(&everybody);
  EXPECT_EQ(submissions(alone.get()), 1 + 2 * static_cast<int>(alone->steps().size()));
}

// Several networks may run at once, on a device of their own or on a shared one.
TEST(OpenclNetwork, TwoNetworksRunAtOnce) {
  PLUMB_NEEDS_OPENCL();
  const Builder builder = WinogradBlock();  // has a workspace
  const Tensor want = RunTwice(Prepare(builder, "OPENCL", {}).get());
  for (const bool shared : {false, true}) {
    const std::shared_ptr<Device> device = OpenDevice("OPENCL").value();
    std::vector<std::thread> threads;
    std::vector<Tensor> got(2);
    for (Tensor& output : got) {
      threads.emplace_back([&] {
        std::unique_ptr<Network> network;
        if (shared) {
          network = Network::Create(builder.graph, device, {}).value();
          EXPECT_TRUE(network->SetInput("x", Random(builder.graph->inputs[0].shape, 7, 1)).ok());
        } else {
          network = Prepare(builder, "OPENCL", {});
        }
        for (int i = 0; i < 10; ++i) output = RunTwice(network.get());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Tensor& output : got) {
      ASSERT_EQ(output.bytes(), want.bytes());
      EXPECT_EQ(std::memcmp(output.raw(), want.raw(), want.bytes()), 0) << (shared ? "shared device" : "own devices");
    }
  }
}

TEST(OpenclNetwork, TooLargeABufferIsSaid) {
  PLUMB_NEEDS_OPENCL();
  const auto device = OpenDevice("OPENCL").value();
  const auto buffer = device->Allocate(size_t{1} << 60);
  EXPECT_EQ(buffer.status().code(), StatusCode::kOutOfMemory);
  EXPECT_NE(buffer.status().message().find("larger than"), std::string::npos) << buffer.status().message();
}

}  // namespace
}  // namespace plumb
