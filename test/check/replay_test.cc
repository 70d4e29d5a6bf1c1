// SPDX-License-Identifier: Apache-2.0
// Replay of a fused group: a device that folds later constants into the first sum rounds at another magnitude than the
// members one by one, and the wider level of the bound knows that.
#include "check/numbers/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "util/network_builder.h"

namespace plumb {
namespace {

constexpr int kIn = 256, kOut = 8, kSize = 8;
constexpr float kShift = 0.3f, kGain = 0.0075f;  // the folded bias is kShift / kGain = 40, the products are some 1e-3

void Fill(Tensor* tensor, float value) { std::fill_n(tensor->data<float>(), tensor->NumElements(), value); }

// conv, + 0, * kGain, + kShift.
Builder ConvWithTail() {
  Builder b(1, kIn, kSize);
  const std::string conv = b.Conv("x", kIn, kOut, 1), first = b.Constant("Add", conv, kOut, 0);
  b.Constant("Add", b.Constant("Mul", first, kOut, 0), kOut, 0);
  std::vector<Layer>& layers = b.graph->layers;
  layers[0].resources["weight"] = Random({kOut, kIn, 1, 1}, 1, 1e-3f);
  Fill(&layers[0].resources["bias"], 0);
  Fill(&layers[2].resources["element"], kGain);
  Fill(&layers[3].resources["element"], kShift);
  b.graph->outputs = {layers[3].outputs[0]};
  return b;
}

// What a device computes in f32 that begins each sum with the folded bias.
double Folded(const Graph& graph, const Tensor& x, int channel, int64_t pixel) {
  const float* weight = graph.layers[0].resources.at("weight").data<float>() + channel * kIn;
  float sum = kShift / kGain;
  for (int c = 0; c < kIn; ++c) sum = std::fma(weight[c], x.data<float>()[c * kSize * kSize + pixel], sum);
  return static_cast<double>(sum * kGain);
}

// rms of introduced / (tau / 8), the R of the verdict.
double RmsOver(int level) {
  const Builder b = ConvWithTail();
  const Graph& graph = *b.graph;
  const BlobTable blobs = InferShapes(graph).value();
  LayerGroup group;
  for (const Layer& layer : graph.layers) group.members.push_back(&layer);
  group.inputs = {{0, 0, "x"}};
  group.outputs = {{3, 0, graph.outputs[0]}};
  const Tensor x = Random({1, kIn, kSize, kSize}, 2, 1);
  const auto replay = ReplayWithBound(group, {x.ConvertedTo(DType::kF64).value()}, blobs, Arithmetic(), level);
  EXPECT_TRUE(replay.ok()) << replay.status().message();
  double sum = 0;
  for (int64_t i = 0; i < kOut * kSize * kSize; ++i) {
    const double device = Folded(graph, x, static_cast<int>(i / (kSize * kSize)), i % (kSize * kSize));
    const double introduced = device - replay->values[0].data<double>()[i];
    sum += std::pow(introduced / (replay->tau[0].data<double>()[i] / 8), 2);
  }
  return std::sqrt(sum / (kOut * kSize * kSize));
}

TEST(Replay, AFoldedBiasWidensTheBound) {
  EXPECT_GT(RmsOver(0), 2.0) << "the case is not hard enough to show anything";
  EXPECT_LT(RmsOver(1), 1.0);
  EXPECT_GT(RmsOver(1), 0.05) << "the bound is too wide to find a fault";
}

// The same where what is added is another blob, of the size of the constant above.
double RmsBehindResidual(int level) {
  Builder b(1, kIn, kSize);
  b.graph->inputs.push_back({"residual", DType::kF32, {1, kOut, kSize, kSize}});
  const std::string conv = b.Conv("x", kIn, kOut, 1), scaled = b.Constant("Mul", conv, kOut, 0);
  b.Simple("Add", {"residual", scaled});
  const Graph& graph = *b.graph;
  b.graph->layers[0].resources["weight"] = Random({kOut, kIn, 1, 1}, 1, 1e-3f);
  Fill(&b.graph->layers[0].resources["bias"], 0);
  Fill(&b.graph->layers[1].resources["element"], kGain);
  LayerGroup group;
  for (const Layer& layer : graph.layers) group.members.push_back(&layer);
  group.inputs = {{0, 0, "x"}, {2, 0, "residual"}};
  group.outputs = {{2, 0, graph.layers[2].outputs[0]}};
  const Tensor x = Random({1, kIn, kSize, kSize}, 2, 1);
  Tensor residual = Random({1, kOut, kSize, kSize}, 3, 0.01f);
  for (int64_t i = 0; i < residual.NumElements(); ++i) residual.data<float>()[i] += kShift;
  const auto replay =
      ReplayWithBound(group, {x.ConvertedTo(DType::kF64).value(), residual.ConvertedTo(DType::kF64).value()},
                      InferShapes(graph).value(), Arithmetic(), level);
  EXPECT_TRUE(replay.ok()) << replay.status().message();
  double sum = 0;
  for (int64_t i = 0; i < kOut * kSize * kSize; ++i) {
    const float* weight = graph.layers[0].resources.at("weight").data<float>() + i / (kSize * kSize) * kIn;
    float device = residual.data<float>()[i] / kGain;
    for (int c = 0; c < kIn; ++c)
      device = std::fma(weight[c], x.data<float>()[c * kSize * kSize + i % (kSize * kSize)], device);
    const double introduced = static_cast<double>(device * kGain) - replay->values[0].data<double>()[i];
    sum += std::pow(introduced / (replay->tau[0].data<double>()[i] / 8), 2);
  }
  return std::sqrt(sum / (kOut * kSize * kSize));
}

TEST(Replay, AResidualWidensTheBound) {
  EXPECT_GT(RmsBehindResidual(0), 2.0) << "the case is not hard enough to show anything";
  EXPECT_LT(RmsBehindResidual(1), 1.0);
  EXPECT_GT(RmsBehindResidual(1), 0.05) << "the bound is too wide to find a fault";
}

// A constant that spreads the blob over more elements is none that could be folded; the bound is what it was.
TEST(Replay, AConstantThatSpreadsTheBlobIsNotFolded) {
  Builder b(1, 4, 1);
  b.graph->inputs[0].shape = {1, 4, 1, 1};
  const std::string wide = b.Constant("Add", "x", 4, 1), scaled = b.Constant("Mul", wide, 4, 1);
  std::vector<Layer>& layers = b.graph->layers;
  layers[0].resources["element"] = Random({1, 1, 1, 4}, 3, 1);
  layers[1].resources["element"] = Random({1, 1, 1, 4}, 4, 1);
  b.graph->outputs = {scaled};
  const BlobTable blobs = InferShapes(*b.graph).value();
  ASSERT_EQ(blobs.at(scaled).shape, Shape({1, 4, 1, 4}));
  LayerGroup group;
  for (const Layer& layer : layers) group.members.push_back(&layer);
  group.inputs = {{0, 0, "x"}};
  group.outputs = {{1, 0, scaled}};
  const std::vector<Tensor> inputs = {Random({1, 4, 1, 1}, 2, 1).ConvertedTo(DType::kF64).value()};
  const auto low = ReplayWithBound(group, inputs, blobs, Arithmetic(), 0);
  const auto high = ReplayWithBound(group, inputs, blobs, Arithmetic(), 1);
  ASSERT_TRUE(low.ok() && high.ok()) << low.status().message();
  for (int64_t i = 0; i < 16; ++i) EXPECT_GE(high->tau[0].data<double>()[i], low->tau[0].data<double>()[i]);
}

// A group with all that a product may be followed by: its own activation, an activation and a sum.
Builder ManyProducts() {
  Builder b(2, 6, 13);
  const std::string first = b.Conv("x", 6, 12, 3, 1, 1, kActivationReLU), grouped = b.Conv(first, 12, 12, 3, 1, 3);
  const std::string depthwise = b.Conv(b.Simple("ReLU", {grouped}), 12, 12, 3, 1, 12, kActivationReLU6);
  const std::string sum = b.Simple("Add", {depthwise, first});
  const std::string strided = b.Conv(sum, 12, 20, 1, 2, 1, kActivationSwish);
  b.graph->outputs = {sum, b.FullyConnected(strided, 20 * 7 * 7, 9)};
  return b;
}

// The values beside a replay are those of a replay of their own: to the bit where the inputs are far apart (then both
// are summed in float64), else to what differences in fp32 leave.
TEST(Replay, ValuesBesideAreThoseOfTheirOwnReplay) {
  const Builder b = ManyProducts();
  const Graph& graph = *b.graph;
  const BlobTable blobs = InferShapes(graph).value();
  LayerGroup group;
  for (const Layer& layer : graph.layers) group.members.push_back(&layer);
  group.inputs = {{0, 0, "x"}};
  const int last = static_cast<int>(graph.layers.size()) - 1;
  for (int m = 0; m <= last; ++m) {
    const std::string& blob = graph.layers[static_cast<size_t>(m)].outputs[0];
    if (blob == graph.outputs[0] || m == last) group.outputs.push_back({m, 0, blob});
  }
  ASSERT_EQ(group.outputs.size(), 2U);
  const Tensor x = Random({2, 6, 13, 13}, 2, 1).ConvertedTo(DType::kF64).value();
  for (const double distance : {1e-6, 0.5}) {
    ReplayBeside beside;
    beside.inputs = {x.Clone().value()};
    const Tensor noise = Random({2, 6, 13, 13}, 3, 1);
    for (int64_t i = 0; i < x.NumElements(); ++i)
      beside.inputs[0].data<double>()[i] += distance * static_cast<double>(noise.data<float>()[i]);
    for (const bool winograd : {false, true}) {
      Arithmetic arithmetic;
      if (winograd) arithmetic.products.algorithm = Numerics::kWinograd;
      beside.values.clear();
      const auto replay = ReplayWithBound(group, {x}, blobs, arithmetic, 0, {}, &beside);
      ASSERT_TRUE(replay.ok()) << replay.status().message();
      const auto alone = ReplayWithBound(group, {x}, blobs, arithmetic, 0);
      const auto own = ReplayValues(group, beside.inputs, blobs);
      for (size_t o = 0; o < group.outputs.size(); ++o) {
        const Tensor &got = beside.values[o], &want = own->values[o];
        double apart = 0, largest = 0, moved = 0;
        for (int64_t i = 0; i < want.NumElements(); ++i) {
          EXPECT_EQ(replay->values[o].data<double>()[i], alone->values[o].data<double>()[i]);
          EXPECT_EQ(replay->tau[o].data<double>()[i], alone->tau[o].data<double>()[i]);
          apart = std::max(apart, std::fabs(got.data<double>()[i] - want.data<double>()[i]));
          largest = std::max(largest, std::fabs(want.data<double>()[i]));
          moved = std::max(moved, std::fabs(want.data<double>()[i] - replay->values[o].data<double>()[i]));
        }
        EXPECT_LT(apart, distance < 1e-3 ? 1e-6 * moved : 1e-300) << distance << " output " << o;
        EXPECT_GT(moved, 0.1 * distance * largest);
      }
    }
  }
}

}  // namespace
}  // namespace plumb
