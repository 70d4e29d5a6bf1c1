// SPDX-License-Identifier: Apache-2.0
// The runtime on the NAIVE device: wiring, memory reuse, observers, errors.
#include "plumb/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "device/device.h"
#include "op/convolution.h"
#include "plumb/plumb.h"
#include "plumb/tool/support.h"
#include "runtime/poison.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

// x -> ReLU a -> Add(a, x) b -> Concat(a, b) c
std::shared_ptr<Graph> SmallGraph() {
  auto graph = std::make_shared<Graph>();
  graph->source = "small";
  graph->inputs = {{"x", DType::kF32, {1, 2, 1, 2}}};
  graph->outputs = {"c"};
  graph->layers = {MakeLayer(OpKind::kReLU, "relu", {"x"}, {"a"}), MakeLayer(OpKind::kAdd, "add", {"a", "x"}, {"b"}),
                   MakeLayer(OpKind::kConcat, "join", {"a", "b"}, {"c"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  return graph;
}

Tensor Values(std::vector<float> values, Shape shape) {
  Tensor t = Tensor::Create(DType::kF32, shape).value();
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

class Recorder : public Observer {
 public:
  Status Before(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().inputs.size(); ++i) before.push_back(event.Input(i).value().ValueAt(0));
    return Status::Ok();
  }
  Status After(const LayerEvent& event) override {
    names.push_back(event.step().name);
    after.push_back(event.Output(0).value().ValueAt(0));
    return fail ? Status::IoError("disk full") : Status::Ok();
  }
  std::vector<std::string> names;
  std::vector<double> before, after;
  bool fail = false;
};

TEST(Network, RunsAndIsObserved) {
  auto network = CreateNetwork(SmallGraph(), "NAIVE", {}).value();
  Recorder recorder;
  network->AddObserver(&recorder);
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  const Tensor c = network->GetOutput("c").value();
  const std::vector<float> got(c.data<float>(), c.data<float>() + c.NumElements());
  EXPECT_EQ(got, (std::vector<float>{1, 0, 3, 0, 2, -2, 6, -4}));
  EXPECT_EQ(recorder.names, (std::vector<std::string>{"relu", "add", "join"}));
  EXPECT_EQ(recorder.before, (std::vector<double>{1, 1, 1, 1, 2}));
}

// A ReLU that fills its workspace with rubbish before and after it computes.
class ScribblingRelu : public Kernel {
 public:
  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(Kernel::ChooseLayouts(spec, arriving, choice));
    choice->workspace = kWorkspace;
    return Status::Ok();
  }
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    workspace_ = spec.workspace.host<float>();
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    std::fill_n(workspace_, kWorkspace, 77.0f);
    for (int64_t i = 0; i < in[0].shape.NumElements(); ++i)
      out[0].host<float>()[i] = std::max(0.0f, in[0].host<float>()[i]);
    std::fill_n(workspace_, kWorkspace, 88.0f);
    return Status::Ok();
  }
  static constexpr int64_t kWorkspace = 1000;

 private:
  float* workspace_ = nullptr;
};

TEST(Network, WorkspacesOverlapNoBlobAndShareTheirMemory) {
  auto graph = std::make_shared<Graph>();
  graph->source = "relus";
  graph->inputs = {{"x", DType::kF32, {1, 2, 1, 2}}};
  graph->outputs = {"c"};
  graph->layers = {MakeLayer(OpKind::kReLU, "first", {"x"}, {"a"}), MakeLayer(OpKind::kReLU, "second", {"a"}, {"b"}),
                   MakeLayer(OpKind::kConcat, "join", {"a", "b"}, {"c"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
  device->kernels_in_front = {
      {"scribbling", OpKind::kReLU, RequireSingle,
       [](const KernelSpec&) -> std::unique_ptr<Kernel> { return std::make_unique<ScribblingRelu>(); }}};
  auto network = Network::Create(graph, device, {}).value();
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  for (int forward = 0; forward < 2; ++forward) ASSERT_TRUE(network->Forward().ok());
  const Tensor c = network->GetOutput("c").value();
  EXPECT_EQ(std::vector<float>(c.data<float>(), c.data<float>() + 8), (std::vector<float>{1, 0, 3, 0, 1, 0, 3, 0}));
  EXPECT_EQ(network->GetInput("x").value().ValueAt(3), -4);
  const size_t workspace = ScribblingRelu::kWorkspace * sizeof(float);
  EXPECT_GE(network->arena_bytes(), workspace);
  EXPECT_LT(network->arena_bytes(), 2 * workspace) << "one after the other, in the same memory";
}

// A ReLU that leaves its last element as it was, and adds what lies in its workspace.
class ForgetfulRelu : public ScribblingRelu {
 public:
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    workspace_ = spec.workspace;
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    for (int64_t i = 0; i + 1 < in[0].shape.NumElements(); ++i)
      out[0].host<float>()[i] = std::max(0.0f, in[0].host<float>()[i]);
    out[0].host<float>()[0] += workspace_.host<float>()[0];
    return Status::Ok();
  }

 private:
  DeviceTensor workspace_;
};

TEST(Network, PoisonShowsWhoReadsWhatNobodyWrote) {
  const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
  device->kernels_in_front = {
      {"forgetful", OpKind::kReLU, RequireSingle,
       [](const KernelSpec&) -> std::unique_ptr<Kernel> { return std::make_unique<ForgetfulRelu>(); }}};
  const PoisonedNetworks poisoned;
  auto network = Network::Create(SmallGraph(), device, {}).value();
  Recorder recorder;
  network->AddObserver(&recorder);
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_TRUE(std::isnan(recorder.after[0])) << "of the workspace";
  const Tensor c = network->GetOutput("c").value();
  EXPECT_TRUE(std::isnan(c.ValueAt(3))) << "of the output";
  EXPECT_EQ(c.ValueAt(2), 3);
  // A healthy one computes the same, also where outputs lie in inputs (Concat).
  network = CreateNetwork(SmallGraph(), "NAIVE", {}).value();
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  const Tensor right = network->GetOutput("c").value();
  EXPECT_EQ(std::vector<float>(right.data<float>(), right.data<float>() + 8),
            (std::vector<float>{1, 0, 3, 0, 2, -2, 6, -4}));
}

TEST(Network, ObserverErrorsLeaveOutputsValid) {
  auto network = CreateNetwork(SmallGraph(), "NAIVE", {}).value();
  Recorder recorder;
  recorder.fail = true;
  network->AddObserver(&recorder);
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  EXPECT_EQ(network->ForwardAsync().Wait().code(), StatusCode::kIoError);
  EXPECT_EQ(recorder.names.size(), 3u);
  EXPECT_EQ(network->GetOutput("c").value().ValueAt(7), -4);
}

TEST(Network, SaysWhatIsWrongWithAnInput) {
  auto network = CreateNetwork(SmallGraph(), "NAIVE", {}).value();
  EXPECT_EQ(network->SetInput("y", Values({1}, {1})).code(), StatusCode::kInvalidArgument);
  EXPECT_NE(network->SetInput("x", Values({1}, {1})).message().find("expects f32 [1,2,1,2], found f32 [1]"),
            std::string::npos);
}

TEST(Network, RefusesBrokenWiring) {
  auto graph = SmallGraph();
  graph->layers[1].inputs[1] = "ghost";
  const auto broken = CreateNetwork(graph, "NAIVE", {});
  EXPECT_NE(broken.status().message().find("reads blob 'ghost'"), std::string::npos);
  auto twice = SmallGraph();
  twice->layers[1].outputs[0] = "a";
  EXPECT_FALSE(CreateNetwork(twice, "NAIVE", {}).ok());
  auto output = SmallGraph();
  output->outputs = {"nowhere"};
  EXPECT_FALSE(CreateNetwork(output, "NAIVE", {}).ok());
}

Status Never(const KernelSpec&) { return Status::NotSupported("needs a unicorn"); }

// A device without kernels: the error lists all layers; with a fallback they run and say so.
class BareDevice : public HostDevice {
 public:
  const char* name() const override { return "BARE"; }
  std::string Description() const override { return "nothing"; }
  const std::vector<KernelRow>& kernels() const override {
    static const std::vector<KernelRow> rows{{"never", OpKind::kAdd, Never, nullptr}};
    return rows;
  }
};

TEST(Network, ListsEveryLayerWithoutAKernel) {
  const auto network = Network::Create(SmallGraph(), std::make_shared<BareDevice>(), {});
  ASSERT_EQ(network.status().code(), StatusCode::kNotSupported);
  for (const char* text : {"3 layers", "'relu'", "'add'", "needs a unicorn", "'join'"}) {
    EXPECT_NE(network.status().message().find(text), std::string::npos) << text;
  }
}

TEST(Network, WhatADeviceLacksIsAList) {
  const auto graph = SmallGraph();
  const BlobTable blobs = InferShapes(*graph).value();
  BareDevice bare;
  const std::vector<LackingKernel> lacking = LackingKernels(*graph, blobs, bare);
  ASSERT_EQ(lacking.size(), 3u);
  EXPECT_EQ(lacking[1].index, 1);
  EXPECT_EQ(lacking[1].layer, "add");
  EXPECT_EQ(lacking[1].type, "Add");
  EXPECT_EQ(lacking[1].reason, "never: needs a unicorn");
  EXPECT_EQ(DescribeLacking("BARE", *graph, lacking),
            "BARE has no kernel for 3 of 3 layers: 00000 'relu' (ReLU): no kernel for this operator; "
            "00001 'add' (Add): never: needs a unicorn; 00002 'join' (Concat): no kernel for this operator");
  EXPECT_TRUE(LackingKernels(*graph, blobs, *OpenDevice("NAIVE").value()).empty());
}

TEST(Network, FallbackRunsOnNaiveAndIsMarked) {
  NetworkOptions options;
  options.fallback = true;
  auto network = Network::Create(SmallGraph(), std::make_shared<BareDevice>(), options).value();
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(network->GetOutput("c").value().ValueAt(4), 2);
  for (const StepInfo* step : network->steps()) EXPECT_TRUE(step->fallback);
}

TEST(OpenDevice, UnknownAndAbsentAreDifferent) {
  EXPECT_EQ(OpenDevice("CUDA").status().code(), StatusCode::kInvalidArgument);
#if defined(__aarch64__)
  const char* absent = "X86";
#else
  const char* absent = "ARM";
#endif
  EXPECT_EQ(OpenDevice(absent).status().code(), StatusCode::kNotFound);
}

TEST(Network, InputsMustBeSetAndOutputsComputed) {
  auto graph = SmallGraph();
  graph->inputs.push_back({"mask", DType::kI64, {3}});
  auto network = CreateNetwork(graph, "NAIVE").value();
  EXPECT_NE(network->GetOutput("c").status().message().find("no Forward ran to its end"), std::string::npos);
  EXPECT_NE(network->GetInput("x").status().message().find("never called for network input 'x'"), std::string::npos);
  EXPECT_EQ(network->Forward().message(),
            "model 'small': SetInput was never called for network inputs 'x' f32 [1,2,1,2], 'mask' i64 [3]");
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  EXPECT_EQ(network->Forward().message(), "model 'small': SetInput was never called for network input 'mask' i64 [3]");
  EXPECT_NE(network->SetInput("mask", Tensor()).message().find("expects i64 [3], found an empty Tensor"),
            std::string::npos);
  ASSERT_TRUE(network->SetInput("mask", Tensor::Zeros(DType::kI64, {3}).value()).ok());
  EXPECT_EQ(network->forwards(), 0);
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(network->forwards(), 1);
  EXPECT_TRUE(network->GetOutput("c").ok());
  EXPECT_NE(network->GetOutput("prob").status().message().find("has no output 'prob'; its outputs are 'c'"),
            std::string::npos);
  EXPECT_NE(network->SetInput("y", Tensor()).message().find("its inputs are 'x', 'mask'"), std::string::npos);
}

TEST(Network, ReadsALentInputWhereItLies) {
  const auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  const auto first_output = [&] {
    EXPECT_TRUE(network->Forward().ok());
    return network->GetOutput("c").value().ValueAt(0);
  };
  EXPECT_NE(network->LendInput("x", Values({1, 2}, {2})).message().find("expects f32 [1,2,1,2]"), std::string::npos);
  EXPECT_NE(network->Forward().message().find("never called for network input 'x'"), std::string::npos);
  Tensor lent = Values({1, -2, 3, -4}, {1, 2, 1, 2});
  ASSERT_TRUE(network->LendInput("x", lent).ok());
  EXPECT_EQ(first_output(), 1);
  lent.data<float>()[0] = 5;  // nobody should; it shows that nothing was copied
  EXPECT_EQ(first_output(), 5);
  EXPECT_EQ(network->GetInput("x").value().ValueAt(0), 5);
  ASSERT_TRUE(network->LendInput("x", Values({7, 0, 0, 0}, {1, 2, 1, 2})).ok());  // which nobody else keeps
  EXPECT_EQ(first_output(), 7);
  ASSERT_TRUE(network->SetInput("x", lent).ok());
  lent.data<float>()[0] = 9;
  EXPECT_EQ(first_output(), 5);
}

TEST(Network, ShowsAnOutputWhereItLies) {
  auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  EXPECT_NE(network->ViewOutput("c").status().message().find("no Forward ran to its end"), std::string::npos);
  EXPECT_NE(network->ViewOutput("prob").status().message().find("has no output 'prob'"), std::string::npos);
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  const Tensor copied = network->GetOutput("c").value(), seen = network->ViewOutput("c").value();
  EXPECT_EQ(seen.shape(), copied.shape());
  EXPECT_EQ(seen.raw(), network->ViewOutput("c").value().raw());
  EXPECT_EQ(seen.ValueAt(0), 1);
  ASSERT_TRUE(network->SetInput("x", Values({5, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(seen.ValueAt(0), 5);
  EXPECT_EQ(copied.ValueAt(0), 1);
  network.reset();
  EXPECT_EQ(seen.ValueAt(0), 5);  // which nobody but the tensor keeps
}

TEST(Network, CopiesALentInputThatIsNotAligned) {
  const auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  const auto memory = std::make_shared<Tensor>(Values({0, 6, 0, 0, 0}, {5}));
  ASSERT_TRUE(network->LendInput("x", Tensor::View(DType::kF32, {1, 2, 1, 2}, memory->data<float>() + 1, memory)).ok());
  memory->data<float>()[1] = 8;
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(network->GetOutput("c").value().ValueAt(0), 6);
}

TEST(Network, AnObserverIsTakenBack) {
  auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  auto owned = std::make_shared<Recorder>();
  network->AddObserver(owned);
  {
    Recorder recorder;
    network->AddObserver(&recorder);
    ASSERT_TRUE(network->Forward().ok());
    EXPECT_EQ(recorder.names.size(), 3u);
    network->RemoveObserver(&recorder);
    network->RemoveObserver(&recorder);
  }
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(owned->names.size(), 6u);
  network->RemoveObserver(owned.get());
  EXPECT_EQ(owned.use_count(), 1);
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(owned->names.size(), 6u);
}

// Each on its own thread, with another number of threads each: the bits are those of one network alone.
TEST(Network, SeveralFromSeveralThreads) {
  auto graph = std::make_shared<Graph>();
  graph->source = "wide";
  graph->inputs = {{"x", DType::kF32, {2, 16, 30, 31}}};
  graph->outputs = {"y"};
  graph->layers = {MakeLayer(OpKind::kExp, "exp", {"x"}, {"a"}), MakeLayer(OpKind::kMul, "mul", {"a", "x"}, {"b"}),
                   MakeLayer(OpKind::kSoftmax, "soft", {"b"}, {"y"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  Tensor x = Tensor::Create(DType::kF32, {2, 16, 30, 31}).value();
  for (int64_t i = 0; i < x.NumElements(); ++i) x.data<float>()[i] = static_cast<float>(i % 997) * 0x1p-10f;
  const auto run = [&](const std::string& device, int threads) {
    NetworkOptions options;
    options.num_threads = threads;
    auto network = CreateNetwork(graph, device, options).value();
    EXPECT_TRUE(network->SetInput("x", x).ok());
    std::string bits;
    for (int forward = 0; forward < 20; ++forward) {
      EXPECT_TRUE(network->Forward().ok());
      const Tensor y = network->GetOutput("y").value();
      const std::string now(static_cast<const char*>(y.raw()), y.bytes());
      EXPECT_TRUE(bits.empty() || now == bits) << device << ", Forward " << forward;
      bits = now;
    }
    return bits;
  };
  for (const std::string device : {"NAIVE", "X86"}) {
    if (!OpenDevice(device).ok()) continue;
    const std::string alone = run(device, 1);
    std::vector<std::future<std::string>> others;
    for (int threads = 1; threads <= 4; ++threads)
      others.push_back(std::async(std::launch::async, run, device, threads));
    for (auto& other : others) EXPECT_TRUE(other.get() == alone) << device;
  }
}

TEST(Network, NullIsAStatus) {
  EXPECT_EQ(Network::Create(nullptr, std::make_shared<BareDevice>(), {}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
