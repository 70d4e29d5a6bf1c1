// SPDX-License-Identifier: Apache-2.0
// A foreign runtime's Winograd is found while the run is judged as fp32: by most layers that are beyond it, whatever
// share of the 3x3 convolutions those are; a lone one is grey when its errors are spread so, else wrong with a hint.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/half.h"
#include "computed_otherwise_util.h"
#include "op/convolution.h"
#include "util/winograd_emulation.h"

namespace plumb {
namespace {

constexpr int64_t kChannels = 16, kHeight = 13, kWidth = 11;
constexpr int kLayers = 8;

std::string Blob(int i) { return i == 0 ? "x" : "b" + std::to_string(i); }

Graph Chain() {
  std::vector<Layer> layers;
  for (int i = 0; i < kLayers; ++i) {
    Layer layer = MakeLayer(OpKind::kConvolution, "conv" + std::to_string(i), {Blob(i)}, {Blob(i + 1)});
    auto param = std::make_shared<ConvolutionParam>();
    param->group = 1;
    param->in_channels_per_group = param->out_channels = kChannels;
    param->kernel_h = param->kernel_w = 3;
    param->stride_h = param->stride_w = param->dilation_h = param->dilation_w = 1;
    param->pad_h = param->pad_w = 1;
    param->pad_type = -1;
    layer.param = param;
    layer.resources["weight"] = Gauss({kChannels, kChannels, 3, 3}, 1 / 12.0);
    layers.push_back(std::move(layer));
  }
  return GraphOf(std::move(layers), {1, kChannels, kHeight, kWidth});
}

// The layers of `winograd` by F(6x6,3x3) in f32, the others summed exactly and rounded.
Stored RunOf(const Graph& graph, const std::set<int>& winograd) {
  Stored subject;
  subject.blobs["x"] = Gauss(graph.inputs[0].shape);
  for (int i = 0; i < kLayers; ++i) {
    const Layer& layer = graph.layers[static_cast<size_t>(i)];
    const Tensor& in = subject.blobs.at(Blob(i));
    Tensor out = Tensor::Create(DType::kF32, in.shape()).value();
    if (winograd.count(i) != 0) {
      const auto values =
          EmulateWinograd({6, {0, 1, -1, 2, -2, 3, -3}}, {kChannels, kChannels, kHeight, kWidth, kHeight, kWidth, 1},
                          in.data<float>(), layer.Resource("weight")->data<float>());
      std::copy(values.begin(), values.end(), out.data<float>());
    } else {
      ReferenceArgs args{layer, {&in}, {&out}};
      EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
    }
    subject.blobs[Blob(i + 1)] = out;
  }
  return subject;
}

RunReport Judge(const Graph& graph, const Stored& subject) {
  SubjectOptions options;
  options.check.find_products = true;
  return CheckSubjectBlobs(graph, subject, {}, options).value();
}

TEST(WinogradFound, ByMostOfWhatIsBeyondFp32) {
  const Graph graph = Chain();
  Stored subject = RunOf(graph, {1, 4, 6});
  const RunReport run = Judge(graph, subject);
  EXPECT_EQ(run.verdict, Verdict::kAligned);
  EXPECT_EQ(run.found_because, "3 of 3 layers that are beyond fp32 are not beyond Winograd's algorithm");
  Tensor& y = subject.blobs.at(Blob(3));
  y.data<float>()[100] += 0.01f;
  const RunReport faulty = Judge(graph, subject);
  EXPECT_FALSE(faulty.found_because.empty());
  ASSERT_EQ(faulty.first_wrong, 2);
}

// Runtimes choose layer by layer: the errors of a lone one say what it is.
TEST(WinogradFound, ALoneOneIsAlignedAndSaid) {
  const Graph graph = Chain();
  for (const std::set<int>& few : {std::set<int>{4}, {1, 4}}) {
    const RunReport run = Judge(graph, RunOf(graph, few));
    EXPECT_TRUE(run.found_because.empty()) << "two of eight may be faults";
    EXPECT_EQ(run.verdict, Verdict::kAligned);
    for (const int layer : few) {
      const LayerReport& report = run.layers[static_cast<size_t>(layer)];
      EXPECT_EQ(report.verdict, Verdict::kAligned);
      EXPECT_EQ(report.cause, "computed by Winograd's algorithm") << report.reason;
    }
  }
}

// What would be within the bound of Winograd's algorithm, but is spread otherwise.
TEST(WinogradFound, FaultsOfThatSizeStayWrong) {
  const Graph graph = Chain();
  const Stored healthy = RunOf(graph, {});
  constexpr int64_t kPlane = kHeight * kWidth;
  const auto noise = [](int64_t i) { return static_cast<float>((i * 2654435761u % 2001) * 1e-3 - 1); };
  const std::map<std::string, std::function<float(int64_t i, float y)>> faults = {
      {"a factor", [](int64_t, float y) { return 4e-6f * y; }},
      {"a factor for each channel", [&](int64_t i, float y) { return 4e-6f * noise(i / kPlane) * y; }},
      {"an offset for each channel", [&](int64_t i, float) { return 4e-6f * noise(i / kPlane); }},
      {"one value", [](int64_t i, float) { return i == 500 ? 2e-5f : 0; }},
      {"one channel", [&](int64_t i, float) { return i / kPlane == 5 ? 5e-6f * noise(i) : 0; }},
      {"half of the channels", [&](int64_t i, float) { return i / kPlane < 8 ? 4e-6f * noise(i) : 0; }},
      {"all", [&](int64_t i, float) { return 4e-6f * noise(i); }},
      {"a tile", [&](int64_t i, float) { return i / kWidth % kHeight < 4 && i % kWidth < 4 ? 5e-6f * noise(i) : 0; }},
  };
  for (const auto& [name, error] : faults) {
    Stored subject = healthy;
    Tensor y = healthy.blobs.at(Blob(8)).Clone().value();
    for (int64_t i = 0; i < y.NumElements(); ++i) y.data<float>()[i] += error(i, y.data<float>()[i]);
    subject.blobs[Blob(8)] = y;
    const RunReport run = Judge(graph, subject);
    EXPECT_EQ(run.first_wrong, 7) << name;
    EXPECT_NE(run.layers[7].reason.find("nor are its errors spread so"), std::string::npos)
        << name << ": " << run.layers[7].reason;
  }
}

// The runtime is known to choose the algorithm: what it would explain elsewhere is no fault, as far as anybody can
// tell.
TEST(WinogradFound, BesideOneThatIsSoComputedOthersAreGrey) {
  const Graph graph = Chain();
  Stored subject = RunOf(graph, {4});
  Tensor& y = subject.blobs.at(Blob(8));
  y.data<float>()[500] += 2e-5f;
  const RunReport run = Judge(graph, subject);
  EXPECT_EQ(run.layers[4].verdict, Verdict::kAligned);
  EXPECT_EQ(run.layers[7].verdict, Verdict::kGrey);
  EXPECT_NE(run.layers[7].reason.find("other layers here are so computed"), std::string::npos) << run.layers[7].reason;
  y.data<float>()[500] += 0.01f;
  EXPECT_EQ(Judge(graph, subject).first_wrong, 7);
}

// A network's only 3x3 convolution has no like to differ from; a fault in it is wrong.
TEST(WinogradFound, TheOnlyOneOfANetworkIsNoFault) {
  Graph graph = Chain();
  graph.layers.resize(1);
  graph.outputs = {Blob(1)};
  const Tensor x = Gauss(graph.inputs[0].shape);
  Stored subject;
  subject.blobs["x"] = x;
  Tensor out = Tensor::Create(DType::kF32, x.shape()).value();
  const auto values =
      EmulateWinograd({6, {0, 1, -1, 2, -2, 3, -3}}, {kChannels, kChannels, kHeight, kWidth, kHeight, kWidth, 1},
                      x.data<float>(), graph.layers[0].Resource("weight")->data<float>());
  std::copy(values.begin(), values.end(), out.data<float>());
  subject.blobs[Blob(1)] = out;
  const RunReport run = Judge(graph, subject);
  ASSERT_EQ(run.verdict, Verdict::kAligned);
  EXPECT_EQ(run.layers[0].cause, "computed by Winograd's algorithm") << run.layers[0].reason;
  out.data<float>()[100] += 0.01f;
  EXPECT_EQ(Judge(graph, subject).first_wrong, 0);
}

// What a layer that was put off would have been told: the cause.
TEST(WinogradFound, AFaultInOneConvolutionKeepsItsCause) {
  const Graph graph = Chain();
  Graph narrow = graph;
  Tensor weight = narrow.layers[3].resources["weight"].Clone().value();
  for (int64_t i = 0; i < weight.NumElements(); ++i)
    weight.data<float>()[i] = HalfToFloat(FloatToHalf(weight.data<float>()[i]));
  narrow.layers[3].resources["weight"] = weight;
  const RunReport run = Judge(graph, RunOf(narrow, {}));
  ASSERT_EQ(run.first_wrong, 3);
  EXPECT_EQ(run.layers[3].cause, "computed with weights rounded to f16; the graph says f32") << run.layers[3].reason;
}

}  // namespace
}  // namespace plumb
