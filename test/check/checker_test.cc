// SPDX-License-Identifier: Apache-2.0
// The checker on small graphs: what is wrong is found and named, what is right is not.
#include "plumb/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/memory_budget.h"
#include "device/device.h"
#include "plumb/plumb.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

// x -> Mul square -> ReLU relu -> Add sum(relu, square) -> Softmax prob
std::shared_ptr<Graph> SmallGraph() {
  auto graph = std::make_shared<Graph>();
  graph->source = "small";
  graph->inputs = {{"x", DType::kF32, {1, 8, 10, 10}}};
  graph->outputs = {"p"};
  graph->layers = {MakeLayer(OpKind::kMul, "square", {"x", "x"}, {"a"}), MakeLayer(OpKind::kReLU, "relu", {"a"}, {"b"}),
                   MakeLayer(OpKind::kAdd, "sum", {"b", "a"}, {"c"}),
                   MakeLayer(OpKind::kSoftmax, "prob", {"c"}, {"p"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  return graph;
}

Tensor Input() {
  Tensor t = Tensor::Create(DType::kF32, {1, 8, 10, 10}).value();
  uint32_t state = 1;
  for (int64_t i = 0; i < t.NumElements(); ++i) {
    state = state * 1664525u + 1013904223u;
    t.data<float>()[i] = static_cast<float>(static_cast<int32_t>(state) >> 8) * 0x1p-22f;
  }
  return t;
}

// A ReLU kernel whose fault the test chooses.
using Fault = void (*)(const float* x, float* y, int64_t count);
Fault fault;

class FaultyRelu : public Kernel {
 public:
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    const float* x = in[0].host<float>();
    float* y = out[0].host<float>();
    for (int64_t i = 0; i < in[0].shape.NumElements(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
    fault(x, y, in[0].shape.NumElements());
    return Status::Ok();
  }
};

RunReport Check(Fault planted) {
  const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
  if (planted != nullptr) {
    fault = planted;
    device->kernels_in_front = {
        {"faulty", OpKind::kReLU, RequireSingle,
         [](const KernelSpec&) -> std::unique_ptr<Kernel> { return std::make_unique<FaultyRelu>(); }}};
  }
  auto network = Network::Create(SmallGraph(), device, {}).value();
  Checker checker;
  EXPECT_TRUE(checker.Attach(network.get(), {{"x", Input()}}).ok());
  EXPECT_TRUE(network->SetInput("x", Input()).ok());
  EXPECT_TRUE(network->Forward().ok());
  return checker.Finish().value();
}

TEST(Checker, HealthyNetworkIsAligned) {
  const RunReport report = Check(nullptr);
  EXPECT_EQ(report.verdict, Verdict::kAligned);
  EXPECT_EQ(report.Count(Verdict::kAligned), 4);
  EXPECT_EQ(report.first_wrong, -1);
  EXPECT_EQ(report.coverage.values, 4 * 800);
  EXPECT_EQ(report.outputs[0].reference.dtype(), DType::kF64);
}

// Whichever allocation of the check is the first without memory: an error, and nothing is read that is not there.
TEST(Checker, NoMemoryIsAnError) {
  int failed = 0, judged = 0;
  for (uint64_t left = 0; left < 200000 && judged == 0; left += 700) {
    auto network = Network::Create(SmallGraph(), OpenDevice("NAIVE").value(), {}).value();
    EXPECT_TRUE(network->SetInput("x", Input()).ok());
    Checker checker;
    const Tensor input = Input();
    SetMaxMemory(MemoryInUse() + left);
    Status status = checker.Attach(network.get(), {{"x", input}});
    if (status.ok()) status = network->Forward();
    if (status.ok()) status = checker.Finish().status();
    SetMaxMemory(0);
    ++(status.ok() ? judged : failed);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kOutOfMemory) << status.message();
  }
  EXPECT_GE(failed, 20);
  EXPECT_EQ(judged, 1);
}

void ExpectOnlyReluWrong(Fault planted) {
  const RunReport report = Check(planted);
  ASSERT_EQ(report.first_wrong, 1);
  EXPECT_EQ(report.layers[1].step.name, "relu");
  EXPECT_EQ(report.Count(Verdict::kWrong), 1) << "errors downstream are inherited, not introduced";
  EXPECT_EQ(report.verdict, Verdict::kWrong);
}

TEST(Checker, NamesTheFaultyLayerOnly) {
  ExpectOnlyReluWrong([](const float*, float* y, int64_t count) { y[count - 1] += 1e-3f; });
  ExpectOnlyReluWrong([](const float*, float* y, int64_t) { y[17] = NAN; });
  ExpectOnlyReluWrong([](const float*, float* y, int64_t) { y[17] = INFINITY; });
  ExpectOnlyReluWrong([](const float*, float* y, int64_t count) { std::fill(y, y + count, 0.f); });
  ExpectOnlyReluWrong([](const float*, float* y, int64_t count) {
    for (int64_t i = 0; i < count; ++i) y[i] *= 1.0001f;
  });
}

TEST(Checker, ErrorsAddUp) {
  const RunReport report = Check([](const float*, float* y, int64_t) { y[17] += 2; });
  const OutputReport& sum = report.layers[2].outputs[0];
  EXPECT_LT(sum.introduced.max_abs, 1e-6);
  EXPECT_NEAR(sum.inherited.max_abs, 2, 1e-5);
  EXPECT_NEAR(sum.total.max_abs, 2, 1e-5);
  EXPECT_EQ(sum.inherited.worst, 17);
}

// Writes into its input: the memory of a blob that somebody else reads later.
TEST(Checker, NoticesABlobThatChangesBetweenLayers) {
  const RunReport report = Check([](const float* x, float*, int64_t) { const_cast<float*>(x)[0] += 1; });
  EXPECT_EQ(report.verdict, Verdict::kWrong);
  EXPECT_NE(report.layers[2].reason.find("changed between"), std::string::npos);
  const OutputEffect& effect = report.outputs[0].effect;
  ASSERT_EQ(effect.layers.size(), 1u);
  EXPECT_EQ(effect.layers[0].step.index, 2) << "the step that read what nobody wrote";
  EXPECT_NEAR(effect.layers[0].share, 1, 1e-3);
}

TEST(Checker, RefusesANetworkWithoutItsWeights) {
  NetworkOptions options;
  options.release_weights = true;
  const auto network = CreateNetwork(SmallGraph(), "NAIVE", options).value();
  EXPECT_NE(Checker().Attach(network.get(), {}).message().find("has let go of its weights"), std::string::npos);
}

TEST(Checker, SaysWhatWasForgotten) {
  const auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  Checker checker;
  EXPECT_NE(checker.Finish().status().message().find("Finish without Checker::Attach"), std::string::npos);
  ASSERT_TRUE(network->SetInput("x", Input()).ok());
  ASSERT_TRUE(checker.Attach(network.get(), {{"x", Input()}}).ok());
  EXPECT_NE(checker.Finish().status().message().find("no Forward ran to its end"), std::string::npos);
  EXPECT_NE(checker.Attach(network.get(), {}).message().find("Attach was called before"), std::string::npos);
  ASSERT_TRUE(network->Forward().ok());
  const auto report = checker.Finish();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->Count(Verdict::kAligned), 4);
  EXPECT_NE(checker.Finish().status().message().find("Finish was called before"), std::string::npos);
  EXPECT_TRUE(network->Forward().ok()) << "and the network goes on unobserved";
}

}  // namespace
}  // namespace plumb
