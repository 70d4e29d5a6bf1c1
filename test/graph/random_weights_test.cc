// SPDX-License-Identifier: Apache-2.0
// The weight generator: Philox against its published vectors, pinned bits, distributions, independence of threads.
#include "graph/random_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/threads.h"
#include "graph/philox.h"
#include "graph/resources.h"
#include "op/core/op.h"
#include "op/core/some_params.h"

namespace plumb {
namespace {

// The known-answer vectors of the Random123 library (philox4x32, 10 rounds).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(Philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Layer MakeLayer(const std::string& type, const std::string& name, const std::string& input, const std::string& output) {
  const OpDef& op = *FindOp(type);
  Layer layer;
  layer.kind = op.kind;
  layer.type = op.name;
  layer.name = name;
  layer.inputs = {input};
  layer.outputs = {output};
  layer.param = op.make_param();
  return layer;
}

// Sets integer and boolean fields by name.
class Setter : public SomeParams {
 public:
  explicit Setter(std::map<std::string, int> values) : values_(std::move(values)) {}
  void Int(const char* name, int& value, Need) override { Set(name, &value); }
  void Bool(const char* name, bool& value, Need) override {
    int number = value ? 1 : 0;
    Set(name, &number);
    value = number != 0;
  }

 private:
  void Set(const char* name, int* value) const {
    const auto it = values_.find(name);
    if (it != values_.end()) *value = it->second;
  }
  std::map<std::string, int> values_;
};

Layer Dense(const std::string& name, const std::string& input, const std::string& output, int outputs) {
  Layer layer = MakeLayer("InnerProduct", name, input, output);
  Setter setter({{"num_output", outputs}, {"has_bias", 1}, {"axis", 1}});
  layer.param->Visit(setter);
  return layer;
}

Graph OneLayer(const std::string& name = "dense") {
  Graph graph;
  graph.source = "test";
  graph.inputs = {{"x", DType::kF32, {1, 100}}};
  graph.outputs = {"y"};
  graph.layers = {Dense(name, "x", "y", 1000)};
  return graph;
}

Graph Generated(Graph graph, uint64_t seed) {
  const auto blobs = InferShapes(graph);
  EXPECT_TRUE(blobs.ok()) << blobs.status().ToString();
  const Status status = GenerateWeights(*blobs, seed, &graph);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return graph;
}

uint32_t Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// These bits are what every machine and every later version must draw; a change needs a new generator version.
TEST(RandomWeights, PinnedBits) {
  EXPECT_STREQ(WeightGeneratorVersion(), "philox4x32-10 v1");
  const Graph graph = Generated(OneLayer(), 1);
  const float* weight = graph.layers[0].Resource("weight")->data<float>();
  const float* bias = graph.layers[0].Resource("bias")->data<float>();
  const uint32_t expected[] = {0x3e74ed23, 0x3ba79d0f, 0x3daadcd6, 0x3d35ba9d, 0xbc72b284};
  EXPECT_EQ(Bits(weight[0]), expected[0]);
  EXPECT_EQ(Bits(weight[1]), expected[1]);
  EXPECT_EQ(Bits(weight[99999]), expected[2]);
  EXPECT_EQ(Bits(bias[0]), expected[3]);
  EXPECT_EQ(Bits(bias[999]), expected[4]);
}

TEST(RandomWeights, FollowSeedAndNameButNotThreads) {
  const auto first = Generated(OneLayer(), 1).layers[0].resources;
  EXPECT_TRUE(SameResources(first, Generated(OneLayer(), 1).layers[0].resources));
  EXPECT_FALSE(SameResources(first, Generated(OneLayer(), 2).layers[0].resources));
  EXPECT_FALSE(SameResources(first, Generated(OneLayer("other"), 1).layers[0].resources));
  SetNumThreads(1);
  EXPECT_TRUE(SameResources(first, Generated(OneLayer(), 1).layers[0].resources));
  SetNumThreads(0);
}

TEST(RandomWeights, AreHeScaledWithSmallBiases) {
  const Graph graph = Generated(OneLayer(), 5);
  const Tensor& weight = *graph.layers[0].Resource("weight");
  double sum = 0, square = 0;
  for (int64_t i = 0; i < weight.NumElements(); ++i) {
    sum += weight.data<float>()[i];
    square += static_cast<double>(weight.data<float>()[i]) * weight.data<float>()[i];
  }
  const double count = static_cast<double>(weight.NumElements());
  EXPECT_NEAR(sum / count, 0, 0.002);              // five standard deviations of the mean
  EXPECT_NEAR(square / count, 2.0 / 100, 0.0003);  // variance 2 / fan_in
  const Tensor& bias = *graph.layers[0].Resource("bias");
  for (int64_t i = 0; i < bias.NumElements(); ++i) EXPECT_LT(std::fabs(bias.data<float>()[i]), 0.0625f);
  EXPECT_TRUE(graph.weights_generated);
  EXPECT_EQ(graph.weight_seed, 5u);
}

// y = x + W x again and again: plain He weights would triple the mean square every time.
TEST(RandomWeights, ResidualSumsDoNotExplode) {
  Graph graph;
  graph.source = "test";
  graph.inputs = {{"b0", DType::kF32, {1, 64}}};
  for (int i = 0; i < 50; ++i) {
    const std::string from = "b" + std::to_string(i), to = "b" + std::to_string(i + 1), side = "s" + std::to_string(i);
    graph.layers.push_back(Dense("d" + std::to_string(i), from, side, 64));
    graph.layers.push_back(MakeLayer("Add", "a" + std::to_string(i), from, to));
    graph.layers.back().inputs.push_back(side);
  }
  graph.outputs = {"b50"};
  graph = Generated(graph, 3);
  std::vector<double> x(64, 1.0);
  for (const Layer& layer : graph.layers) {
    if (layer.type != "InnerProduct") continue;
    const float* weight = layer.Resource("weight")->data<float>();
    std::vector<double> y = x;
    for (size_t o = 0; o < 64; ++o) {
      for (size_t k = 0; k < 64; ++k) y[o] += weight[o * 64 + k] * x[k];
    }
    x = y;
  }
  double square = 0;
  for (const double value : x) square += value * value / 64;
  EXPECT_GT(square, 10);
  EXPECT_LT(square, 1000);  // grows by 2 per sum: about 100
}

TEST(RandomWeights, LeaveWhatIsThereAloneAndQuantiseWhatIsNot) {
  Graph graph = OneLayer();
  graph.layers[0].resources["weight"] = *Tensor::Zeros(DType::kF32, {1000, 100});
  const Tensor before = graph.layers[0].resources["weight"];
  const Graph filled = Generated(graph, 1);
  EXPECT_EQ(filled.layers[0].Resource("weight")->raw(), before.raw());
  EXPECT_NE(filled.layers[0].Resource("bias"), nullptr);
  graph = OneLayer();
  graph.layers[0].quantized = true;
  const Graph quantized = Generated(graph, 1);
  ASSERT_NE(quantized.layers[0].Resource("weight"), nullptr);
  EXPECT_EQ(quantized.layers[0].Resource("weight")->dtype(), DType::kI8);
  EXPECT_EQ(quantized.layers[0].Resource("bias")->dtype(), DType::kI32);
  EXPECT_EQ(quantized.blob_scales.size(), 2u);  // of what it reads and writes
}

// Every operator's fills: in their ranges, all finite. Shapes of rank 4 suit most operators; the others are left out.
TEST(RandomWeights, FillsStayInTheirRanges) {
  int checked = 0;
  for (const OpDef& op : AllOps()) {
    if (op.resource_specs == nullptr) continue;
    Graph graph;
    graph.source = "test";
    graph.inputs = {{"x", DType::kF32, {1, 8, 5, 5}}};
    graph.layers = {MakeLayer(op.name, "layer", "x", "y")};
    const auto blobs = InferShapes(graph);
    if (!blobs.ok() || !GenerateWeights(*blobs, 1, &graph).ok()) continue;
    std::vector<ResourceSpec> specs;
    ASSERT_TRUE(op.resource_specs(graph.layers[0], {blobs->at("x")}, &specs).ok());
    for (const ResourceSpec& spec : specs) {
      const Tensor* tensor = graph.layers[0].Resource(spec.slot);
      if (tensor == nullptr) continue;
      ++checked;
      for (int64_t i = 0; i < tensor->NumElements(); ++i) {
        const double value = tensor->ValueAt(i);
        EXPECT_TRUE(std::isfinite(value));
        if (spec.fill == ResourceSpec::kNearOne) {
          EXPECT_NEAR(value, 1, 0.125);
        }
        if (spec.fill == ResourceSpec::kPositive) {
          EXPECT_NEAR(value, 1, 0.5);
        }
        if (spec.fill == ResourceSpec::kSlope) {
          EXPECT_NEAR(value, 0.25, 0.25);
        }
        if (spec.fill == ResourceSpec::kSmall) {
          EXPECT_NEAR(value, 0, 0.0625);
        }
      }
    }
  }
  EXPECT_GE(checked, 2);
}

}  // namespace
}  // namespace plumb
