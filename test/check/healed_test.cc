// SPDX-License-Identifier: Apache-2.0
// Healing on a device (check/walk/rest_of_network.h): a wrong layer's output is replaced by what it should be, and the
// device runs the rest. Held to what the device computes when the layer is right from the beginning.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "check/numbers/replay.h"
#include "check/report/util.h"
#include "device/device.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

using Factors = std::map<std::string, double>;  // of outputs, by layer: every second element of them
Factors scaled;                                 // what the next network's kernels compute wrongly

class ScaledProduct : public Kernel {
 public:
  explicit ScaledProduct(const KernelSpec& spec) : blobs_(*spec.blobs), group_(spec.group) {
    const auto factor = scaled.find(group_.first().name);
    factor_ = factor == scaled.end() ? 1 : factor->second;
  }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    Tensor x = Tensor::Create(DType::kF64, in[0].shape).value();
    std::copy_n(in[0].host<float>(), x.NumElements(), x.data<double>());
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult result, ReplayValues(group_, {x}, blobs_));
    const double* y = result.values[0].data<double>();
    for (int64_t i = 0; i < out[0].shape.NumElements(); ++i)
      out[0].host<float>()[i] = static_cast<float>(y[i] * (i % 2 == 0 ? factor_ : 1));
    return Status::Ok();
  }

 private:
  const BlobTable& blobs_;
  LayerGroup group_;
  double factor_;
};

// Three products with ReLU between them, and a second path around the middle one.
Graph Network3() {
  const std::string product = "num_output=12 axis=1 has_bias=0 transpose=0";
  GraphBuilder builder("three");
  builder.Input("x", {1, 12});
  builder.Input("late", {1, 12});
  builder.Add("InnerProduct", {"x"}, {"first"}, product);
  builder.Add("ReLU", {"first"}, {"a"});
  builder.Add("InnerProduct", {"a"}, {"second"}, product);
  builder.Add("ReLU", {"second"}, {"b"});
  builder.Add("Add", {"b", "a"}, {"c"});
  builder.Add("Add", {"c", "late"}, {"d"});
  builder.Add("InnerProduct", {"d"}, {"third"}, product);
  builder.Output("third");
  return builder.Build(3).value();
}

std::map<std::string, Tensor> InputsOf3(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::map<std::string, Tensor> inputs;
  for (const char* name : {"x", "late"}) {
    Tensor value = Tensor::Create(DType::kF32, {1, 12}).value();
    for (int64_t i = 0; i < 12; ++i) value.data<float>()[i] = normal(random);
    inputs[name] = value;
  }
  return inputs;
}

RunReport WithFactors(const Factors& factors, unsigned seed) {
  scaled = factors;
  const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
  device->kernels_in_front = {
      {"scaled", OpKind::kInnerProduct, RequireSingle,
       [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<ScaledProduct>(spec); }}};
  auto network = Network::Create(std::make_shared<const Graph>(Network3()), device, {}).value();
  const auto inputs = InputsOf3(seed);
  Checker checker;
  EXPECT_TRUE(checker.Attach(network.get(), inputs).ok());
  for (const auto& [name, value] : inputs) EXPECT_TRUE(network->SetInput(name, value).ok());
  EXPECT_TRUE(network->Forward().ok());
  return checker.Finish().value();
}

const LayerEffect& EffectOf(const RunReport& run, const std::string& name) {
  const auto& layers = run.outputs[0].effect.layers;
  const auto found =
      std::find_if(layers.begin(), layers.end(), [&](const LayerEffect& layer) { return layer.step.name == name; });
  EXPECT_NE(found, layers.end()) << name;
  return found == layers.end() ? layers[0] : *found;
}

double ErrorOf(const RunReport& run) {
  double sum = 0;
  for (int64_t i = 0; i < 12; ++i) {
    const double error = run.outputs[0].device.ValueAt(i) - run.outputs[0].reference.ValueAt(i);
    sum += error * error;
  }
  return std::sqrt(sum);
}

TEST(Healed, OneLayerLeavesRounding) {
  int changed = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const RunReport run = WithFactors({{"second", -1.5}}, seed);
    ASSERT_EQ(run.outputs[0].effect.layers.size(), 1u);
    const LayerEffect& effect = EffectOf(run, "second");
    EXPECT_TRUE(effect.healed_by_device);
    EXPECT_LT(effect.left, 1e-5);
    EXPECT_NEAR(effect.share, 1, 1e-4);
    EXPECT_EQ(effect.top1_healed, TopIndices(run.outputs[0].reference, 1)[0]);
    const auto said = EffectSentences(run, run.outputs[0]);
    EXPECT_NE(said.back().find("'second' healed, the rest by NAIVE: top-1 is #"), std::string::npos) << said.back();
    changed += run.outputs[0].effect.moved > 0;
  }
  EXPECT_GT(changed, 2) << "none of the faults changes an answer";
}

// What is left once one of two is healed is what the device computes when only the other one is wrong.
TEST(Healed, SeveralAreHealedOneByOne) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Factors both = {{"first", 1.5}, {"third", 0.7}};
    const RunReport run = WithFactors(both, seed);
    const OutputEffect& effect = run.outputs[0].effect;
    ASSERT_EQ(effect.layers.size(), 2u) << "an input that is first read behind a wrong layer is known";
    double sum = effect.others;
    for (const LayerEffect& layer : effect.layers) sum += layer.share;
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_NEAR(effect.others, 0, 0.01);
    EXPECT_GE(std::fabs(effect.layers[0].share), std::fabs(effect.layers[1].share));
    EXPECT_EQ(effect.top1_without, TopIndices(run.outputs[0].reference, 1)[0]);
    for (const auto& [healed, other] : {std::pair("first", "third"), std::pair("third", "first")}) {
      const RunReport alone = WithFactors({{other, both.at(other)}}, seed);
      EXPECT_NEAR(EffectOf(run, healed).left, ErrorOf(alone) / ErrorOf(run), 1e-4) << healed;
      EXPECT_EQ(EffectOf(run, healed).top1_healed, TopIndices(alone.outputs[0].device, 1)[0]) << healed;
    }
  }
}

TEST(Healed, CancellationIsSaid) {
  int cancelled = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const RunReport run = WithFactors({{"first", 1.5}, {"second", 0.5}}, seed);
    const OutputEffect& effect = run.outputs[0].effect;
    const auto negative = [](const LayerEffect& layer) { return layer.share < -0.01; };
    const bool cancels = std::any_of(effect.layers.begin(), effect.layers.end(), negative);
    const bool said = EffectSentences(run, run.outputs[0])[0].find("cancels") != std::string::npos;
    EXPECT_EQ(said, cancels);
    cancelled += cancels;
  }
  EXPECT_GT(cancelled, 2);
}

}  // namespace
}  // namespace plumb
