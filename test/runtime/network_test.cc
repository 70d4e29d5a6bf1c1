// The runtime on the NAIVE device: wiring, memory reuse, observers, errors.
#include "plumb/network.h"

#include <gtest/gtest.h>

#include "device/device.h"
#include "op/convolution.h"
#include "plumb/plumb.h"
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
  EXPECT_NE(network->SetInput("x", Values({1}, {1})).message().find("expects f32 [1,2,1,2], found f32 [1]"), std::string::npos);
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

TEST(Network, FallbackRunsOnNaiveAndIsMarked) {
  NetworkOptions options;
  options.fallback = OpenDevice("NAIVE").value();
  auto network = Network::Create(SmallGraph(), std::make_shared<BareDevice>(), options).value();
  ASSERT_TRUE(network->SetInput("x", Values({1, -2, 3, -4}, {1, 2, 1, 2})).ok());
  ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(network->GetOutput("c").value().ValueAt(4), 2);
  for (const StepInfo* step : network->steps()) EXPECT_TRUE(step->fallback);
}

TEST(OpenDevice, UnknownAndAbsentAreDifferent) {
  EXPECT_EQ(OpenDevice("CUDA").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenDevice("ARM").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace plumb
