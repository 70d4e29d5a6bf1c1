// SPDX-License-Identifier: Apache-2.0
// Generated weights on the real networks: no layer's values vanish or explode, and the scores are no one-hot vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "graph/random_inputs.h"
#include "plumb/model.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

double Rms(const Tensor& tensor) {
  double square = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    square += static_cast<double>(tensor.data<float>()[i]) * tensor.data<float>()[i];
  }
  return std::sqrt(square / static_cast<double>(tensor.NumElements()));
}

class RmsObserver : public Observer {
 public:
  Status After(const LayerEvent& event) override {
    if (event.step().members.back().type == "Softmax") {
      PLUMB_ASSIGN_OR_RETURN(const Tensor input, event.Input(0));
      logits = Rms(input);
      return Status::Ok();
    }
    PLUMB_ASSIGN_OR_RETURN(const Tensor output, event.Output(0));
    const double rms = Rms(output);
    if (!std::isfinite(rms) || rms < smallest) smallest = rms, smallest_at = event.step().name;
    if (!std::isfinite(rms) || rms > largest) largest = rms, largest_at = event.step().name;
    return Status::Ok();
  }
  double smallest = 1e30, largest = 0, logits = 0;
  std::string smallest_at, largest_at;
};

class GeneratedScaleTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GeneratedScaleTest, ValuesKeepTheirSize) {
  auto graph = LoadModel(std::string(PLUMB_TEST_DATA "/networks/") + GetParam() + ".tnnproto");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto shared = std::make_shared<const Graph>(*std::move(graph));
  const std::string device = OpenDevice("X86").ok() ? "X86" : "NAIVE";
  auto network = CreateNetwork(shared, device, {});
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  RmsObserver observer;
  (*network)->AddObserver(&observer);
  const GraphInput& input = shared->inputs[0];
  const auto value = RandomInput(input.name, input.dtype, input.shape, 1, std::nullopt);
  ASSERT_TRUE(value.ok() && (*network)->SetInput(input.name, *value).ok());
  const Status status = (*network)->Forward();
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::printf("%s: rms %.3g (%s) to %.3g (%s), logits %.3g\n", GetParam(), observer.smallest,
              observer.smallest_at.c_str(), observer.largest, observer.largest_at.c_str(), observer.logits);
  EXPECT_GT(observer.smallest, 0.01) << observer.smallest_at;
  EXPECT_LT(observer.largest, 100) << observer.largest_at;
  EXPECT_GT(observer.logits, 0.1);
  EXPECT_LT(observer.logits, 10);
  const auto scores = (*network)->GetOutput(shared->outputs[0]);
  ASSERT_TRUE(scores.ok());
  float best = 0;
  for (int64_t i = 0; i < scores->NumElements(); ++i) best = std::max(best, scores->data<float>()[i]);
  EXPECT_LT(best, 0.99f);
}

INSTANTIATE_TEST_SUITE_P(Networks, GeneratedScaleTest,
                         ::testing::Values("densenet", "inception_v3", "mobilenet_v1", "resnet50", "squeezenet_v1.0"));

}  // namespace
}  // namespace plumb
