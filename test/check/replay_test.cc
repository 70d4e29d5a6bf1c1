// Replay of a fused group: a device that folds later constants into the first sum rounds at another magnitude than the
// members one by one, and the wider level of the bound knows that.
#include "check/judge/replay.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plumb
