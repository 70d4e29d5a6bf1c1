// SPDX-License-Identifier: Apache-2.0
// A forked child: devices of the host go on there; a driver with threads of its own is refused with a sentence. Nothing
// hangs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "plumb/plumb.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

std::shared_ptr<Graph> SmallGraph() {
  auto graph = std::make_shared<Graph>();
  graph->source = "small";
  graph->inputs = {{"x", DType::kF32, {1, 8, 40, 40}}};
  graph->outputs = {"y"};
  graph->layers = {MakeLayer(OpKind::kExp, "exp", {"x"}, {"a"}), MakeLayer(OpKind::kSoftmax, "soft", {"a"}, {"y"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  return graph;
}

// Runs `body` in a child and returns what it returned, or -signal.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class Fork : public ::testing::TestWithParam<const char*> {};

TEST_P(Fork, TheChildGoesOnOrSaysWhyNot) {
  const std::string device = GetParam();
  const auto opened = OpenDevice(device);
  if (!opened.ok()) GTEST_SKIP() << opened.status().message();
  NetworkOptions options;
  options.num_threads = 3;
  auto network = CreateNetwork(SmallGraph(), device, options).value();
  const Tensor x = Tensor::Zeros(DType::kF32, {1, 8, 40, 40}).value();
  ASSERT_TRUE(network->SetInput("x", x).ok());
  ASSERT_TRUE(network->Forward().ok());
  const double want = network->GetOutput("y")->ValueAt(77);
  const bool host = device == "NAIVE" || device == "X86" || device == "ARM";
  const int code = InChild([&] {
    const Status again = network->SetInput("x", x), run = network->Forward();
    const auto y = network->GetOutput("y");
    const auto made = CreateNetwork(SmallGraph(), device, options);
    if (host) return again.ok() && run.ok() && made.ok() && y.ok() && y->ValueAt(77) == want ? 0 : 1;
    const auto says = [](const Status& s) {
      return s.code() == StatusCode::kNotSupported && s.message().find("fork") != std::string::npos;
    };
    return says(again) && says(run) && says(y.status()) && says(made.status()) ? 0 : 2;
  });
#ifdef __aarch64__
  if (code == 127) GTEST_SKIP() << "qemu-user 7.2 ends with an assertion when a forked child starts a thread";
#endif
  EXPECT_EQ(code, 0) << "1: a host device does not go on; 2: a driver is used or not named; negative: a signal";
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(network->GetOutput("y")->ValueAt(77), want);
}

INSTANTIATE_TEST_SUITE_P(Devices, Fork, ::testing::Values("NAIVE", "X86", "ARM", "OPENCL", "VULKAN"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace plumb
