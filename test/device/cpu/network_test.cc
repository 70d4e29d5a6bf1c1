// SPDX-License-Identifier: Apache-2.0
// Networks on the CPU device against NAIVE: fusion, channel blocks, in-place concatenation and residual sums, with
// channel counts that do and do not fill their blocks, batches and several thread counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>

#include "base/cpu.h"
#include "cpu_name.h"
#include "device/cpu/pointwise_convolution.h"
#include "device/cpu/product.h"
#include "op/binary.h"
#include "op/concat.h"
#include "op/matmul.h"
#include "op/softmax.h"
#include "plumb/plumb.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

// Of a Forward that reads the input where it lies, whose own memory nothing was written to, and of one with a copy.
Tensor RunOn(const std::shared_ptr<Graph>& graph, const std::string& device, const NetworkOptions& options,
             std::vector<std::string>* kernels = nullptr) {
  auto network = CreateNetwork(graph, device, options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return {};
  const Tensor x = Random(graph->inputs[0].shape, 7, 1);
  std::vector<Tensor> outputs;
  for (const bool lent : {true, false}) {
    EXPECT_TRUE((lent ? (*network)->LendInput("x", x) : (*network)->SetInput("x", x)).ok());
    const Status status = (*network)->Forward();
    EXPECT_TRUE(status.ok()) << status.ToString();
    outputs.push_back((*network)->GetOutput(graph->outputs[0]).value());
    const Tensor seen = (*network)->ViewOutput(graph->outputs[0]).value();
    EXPECT_EQ(std::memcmp(outputs.back().raw(), seen.raw(), seen.bytes()), 0);
  }
  EXPECT_EQ(std::memcmp(outputs[0].raw(), outputs[1].raw(), outputs[0].bytes()), 0);
  for (const StepInfo* step : (*network)->steps()) {
    if (kernels != nullptr) kernels->push_back(step->kernel);
  }
  return outputs[1];
}

// Fused and unfused, on one, two and three threads, must agree with NAIVE; returns the kernels of the fused network.
std::vector<std::string> ExpectLikeNaive(const Builder& builder) {
  const Tensor want = RunOn(builder.graph, "NAIVE", {});
  double largest = 0;
  for (int64_t i = 0; i < want.NumElements(); ++i) largest = std::max(largest, std::fabs(want.ValueAt(i)));
  EXPECT_GT(largest, 1e-4);
  std::vector<std::string> kernels;
  for (const bool unfuse : {true, false}) {
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE("unfuse " + std::to_string(unfuse) + ", threads " + std::to_string(threads));
      NetworkOptions options;
      options.num_threads = threads;
      options.unfuse = unfuse;
      kernels.clear();
      const Tensor got = RunOn(builder.graph, kCpuDevice, options, &kernels);
      if (got.empty()) continue;
      EXPECT_EQ(got.shape(), want.shape());
      double worst = 0;
      for (int64_t i = 0; i < want.NumElements(); ++i) {
        worst = std::max(worst, std::fabs(got.ValueAt(i) - want.ValueAt(i)));
      }
      EXPECT_LT(worst, 1e-5 * largest);
    }
  }
  return kernels;
}

using Names = std::vector<std::string>;

// Below AVX2 oneDNN has blocked convolutions for some shapes only, and the numbers are all that is promised.
void ExpectKernels(const Names& kernels, const Names& wanted) {
  if (EffectiveIsa() < Isa::kAvx2) return;
  EXPECT_EQ(kernels, wanted);
}

// The kernel of a convolution of several taps from so many channels, by direct sums. REQUIRES: the device was opened.
std::string OfTaps(int64_t channels, int64_t stride) {
  cpu::ConvParams params;
  params.in_channels = channels, params.stride_h = params.stride_w = stride;
  if (channels < cpu::ChannelBlock()) params.src = cpu::Format::kPlain;
  return On(cpu::ProductsLead(params) ? "convolution_blocked" : "convolution_panel");
}

// The same of a 1x1 convolution on a square map.
std::string OfPoints(int64_t side) {
  cpu::ConvParams params;
  params.in_channels = params.out_channels = 40;
  params.in_h = params.in_w = params.out_h = params.out_w = side;
  return On(cpu::PointwiseConvolution::Check(params).ok() ? "convolution_pointwise" : "convolution_blocked");
}

TEST(CpuNetwork, FusesResidualBlock) {
  for (const int64_t batch : {1, 3}) {
    Builder b(batch, 3, 19);
    const std::string stem = b.Pool(b.Simple("ReLU", {b.Conv("x", 3, 40, 3, 2)}), kPoolMax, 3, 2);
    const std::string middle = b.Simple("ReLU", {b.Conv(stem, 40, 24, 1)});
    const std::string sum = b.Simple("ReLU", {b.Simple("Add", {b.Conv(middle, 24, 40, 3), stem})});
    const std::string other = b.Conv(sum, 40, 40, 1);
    b.Simple("ReLU", {b.Simple("Add", {other, b.Conv(sum, 40, 40, 3)})});
    const Names kernels = ExpectLikeNaive(b);
    ExpectKernels(kernels, {OfTaps(3, 2), On("pooling"), OfPoints(5), OfTaps(24, 1), OfTaps(40, 1), OfPoints(5)});
  }
}

// Winograd's algorithm with all that follows a convolution; direct sums where they are asked for, of all layers or one.
TEST(CpuNetwork, ComputesByWinogradUnlessAskedOtherwise) {
  Builder b(2, 32, 21);
  const std::string first = b.Simple("ReLU", {b.Conv("x", 32, 40, 3)});
  const std::string second = b.Conv(first, 40, 40, 3);
  b.Simple("ReLU", {b.Simple("Add", {second, first})});
  const Names fast{On("convolution_winograd"), On("convolution_winograd")};
  EXPECT_EQ(ExpectLikeNaive(b), fast);
  NetworkOptions options;
  options.direct = true;
  Names kernels;
  RunOn(b.graph, kCpuDevice, options, &kernels);
  ExpectKernels(kernels, {OfTaps(32, 1), OfTaps(40, 1)});
  options.direct = false;
  kernels.clear();
  options.kernels = {{"layer2", "convolution_blocked"}};
  RunOn(b.graph, kCpuDevice, options, &kernels);
  ExpectKernels(kernels, {On("convolution_winograd"), On("convolution_blocked")});
}

TEST(CpuNetwork, RefusesAKernelThatCannotBe) {
  Builder b(1, 32, 9);
  b.Conv("x", 32, 40, 3, 2);
  const auto error = [&](const std::string& layer, const std::string& kernel) {
    NetworkOptions options;
    options.fallback = true;  // NAIVE takes no part in it
    options.kernels = {{layer, kernel}};
    return CreateNetwork(b.graph, kCpuDevice, options).status().ToString();
  };
  EXPECT_NE(error("layer0", "convolution_winograd")
                .find("the kernel that was asked for refuses: convolution_winograd: needs "
                      "stride 1"),
            std::string::npos)
      << error("layer0", "convolution_winograd");
  EXPECT_NE(error("layer0", "convolution_blokked").find("'convolution_blocked'"), std::string::npos)
      << error("layer0", "convolution_blokked");
  EXPECT_NE(error("nobody", "convolution_blocked").find("'nobody'"), std::string::npos);
}

// What nobody else holds is given back once it is packed, layer by layer, and nothing else changes.
TEST(CpuNetwork, LetsGoOfItsWeights) {
  Builder b(1, 16, 21);
  const std::string scaled = b.Constant("Mul", b.Conv("x", 16, 32, 3), 32, 2);
  b.FullyConnected(b.Pool(b.Simple("ReLU", {scaled}), kPoolMax, 3, 2), 32 * 11 * 11, 10);
  const Tensor want = RunOn(b.graph, kCpuDevice, {});
  std::vector<std::weak_ptr<void>> held;
  auto graph = std::make_shared<Graph>(*b.graph);
  for (Layer& layer : graph->layers) {
    const auto weight = layer.resources.find("weight");
    if (weight == layer.resources.end()) continue;
    auto own = std::make_shared<Tensor>(weight->second.Clone().value());
    weight->second = Tensor::View(own->dtype(), own->shape(), own->raw(), own);
    held.emplace_back(own);
  }
  ASSERT_EQ(held.size(), 2u);
  NetworkOptions options;
  options.release_weights = true;
  const auto network = CreateNetwork(std::shared_ptr<const Graph>(std::move(graph)), kCpuDevice, options).value();
  for (const auto& weight : held) EXPECT_TRUE(weight.expired());
  EXPECT_EQ(network->graph().layers.size(), b.graph->layers.size());
  ASSERT_TRUE(network->SetInput("x", Random(b.graph->inputs[0].shape, 7, 1)).ok());
  ASSERT_TRUE(network->Forward().ok());
  const Tensor got = network->GetOutput(b.graph->outputs[0]).value();
  EXPECT_EQ(std::memcmp(got.raw(), want.raw(), want.bytes()), 0);
}

// One layer's packed weights at a time, the same bits, and one Forward only.
TEST(CpuNetwork, RunsOnceWithOneLayersWeights) {
  Builder b(1, 16, 21);
  const std::string first = b.Simple("ReLU", {b.Conv("x", 16, 32, 3)});
  b.FullyConnected(b.Pool(b.Conv(first, 32, 32, 1), kPoolMax, 3, 2), 32 * 11 * 11, 10);
  const Tensor want = RunOn(b.graph, kCpuDevice, {});
  NetworkOptions options;
  options.single_forward = true;
  const auto network = CreateNetwork(b.graph, kCpuDevice, options).value();
  EXPECT_EQ(network->steps()[0]->numerics.algorithm, Numerics::kDirect);  // not known yet
  ASSERT_TRUE(network->SetInput("x", Random(b.graph->inputs[0].shape, 7, 1)).ok());
  const Status status = network->Forward();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(network->steps()[0]->numerics.algorithm, Numerics::kWinograd);
  const Tensor got = network->GetOutput(b.graph->outputs[0]).value();
  EXPECT_EQ(std::memcmp(got.raw(), want.raw(), want.bytes()), 0);
  const Status again = network->Forward();
  EXPECT_EQ(again.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(again.message().find("single Forward"), std::string::npos) << again.message();
}

// Functions as exporters write them, in channel blocks whose last is not full and in plain order.
TEST(CpuNetwork, ChainsElementwiseLayers) {
  const auto kernels = [](bool blocked, const auto& follow) {
    Builder b(2, 5, 41);  // several pieces, the last one short
    const std::string x = blocked ? b.Conv("x", 5, 20, 1) : b.Simple("Neg", {"x"});
    follow(&b, x);
    Names names = ExpectLikeNaive(b);
    names.erase(names.begin());
    return names;
  };
  const Names one{On("element_chain")};
  for (const bool blocked : {true, false}) {
    SCOPED_TRACE(blocked);
    EXPECT_EQ(kernels(blocked,
                      [](Builder* b, const std::string& x) {
                        b->Simple("Mul", {x, b->Simple("Sigmoid", {x})});
                      }),
              one);
    EXPECT_EQ(kernels(blocked,
                      [](Builder* b, const std::string& x) {
                        const std::string erf = b->Simple("Erf", {b->Constant("Div", x, 1, 2)});
                        b->Constant("Mul", b->Simple("Mul", {x, b->Constant("Add", erf, 1, 1)}), 1, 0.5f);
                      }),
              one);
    EXPECT_EQ(
        kernels(blocked,
                [](Builder* b, const std::string& x) {  // the chain's value on the right, of a blob and of a constant
                  const std::string tanh = b->Simple("Tanh", {b->Simple("Add", {x, x})});
                  const std::string rest = b->Constant("Sub", b->Simple("Sub", {x, tanh}), 1, 3);
                  auto param = std::make_shared<BinaryParam>();
                  param->weight_input_index = 0;
                  b->graph->layers.back().param = param;
                  b->Simple("Div", {rest, b->Simple("Sigmoid", {x})});
                }),
        (Names{On("unary"), On("element_chain")}));
    // A factor per channel broadcasts, and sums without a function are none.
    const Names apart = kernels(blocked, [](Builder* b, const std::string& x) {
      b->Simple("Mul", {x, b->Simple("Sigmoid", {b->Pool(x, kPoolAverage, 41, 41)})});
    });
    EXPECT_EQ(std::count(apart.begin(), apart.end(), On("element_chain")), 0);
    const Names sums = kernels(blocked, [](Builder* b, const std::string& x) {
      b->Simple("Mul", {x, b->Simple("Add", {x, x})});
    });
    EXPECT_EQ(std::count(sums.begin(), sums.end(), On("element_chain")), 0);
  }
}

TEST(CpuNetwork, FoldsScalesIntoConvolutions) {
  Builder b(2, 5, 9);
  const std::string scaled = b.Constant("Add", b.Constant("Mul", b.Conv("x", 5, 20, 3), 20, 2), 20, 1);
  b.Conv(b.Simple("ReLU", {scaled}), 20, 9, 1);
  const Names kernels = ExpectLikeNaive(b);
  ExpectKernels(kernels, {OfTaps(5, 1), On("convolution_blocked")});
}

// What makes a 1x1 convolution's input is computed with it, a band at a time: a depthwise convolution, or batch
// normalisation in front of it. Channels that fill no block, an addend, a stride, bands of several rows and of one.
TEST(CpuNetwork, ComputesAPointwiseConvolutionInBands) {
  const Names band{On("pointwise_band")};
  for (const int64_t batch : {1, 2}) {
    for (const int stride : {1, 2}) {
      Builder b(batch, 36, stride * 29);
      const std::string deep = b.Simple("ReLU6", {b.Conv("x", 36, 36, 3, stride, 36)});
      b.Simple("ReLU", {b.Conv(deep, 36, 37, 1)});
      const Names kernels = ExpectLikeNaive(b);
      if (stride == 1 || !cpu::ProductsLeadDepthwise(29 * 29)) ExpectKernels(kernels, band);
    }
    Builder residual(batch, 40, 30);
    const std::string x = residual.Conv("x", 40, 40, 1);
    const std::string deep = residual.Simple("ReLU", {residual.Conv(x, 40, 40, 5, 1, 40)});
    residual.Simple("Add", {residual.Conv(deep, 40, 40, 1), x});
    EXPECT_EQ(ExpectLikeNaive(residual).back(), On("pointwise_band"));
    Builder normalised(batch, 35, 28);
    const std::string scaled = normalised.Constant("Mul", "x", 35, 2);
    const std::string clamped = normalised.Simple("ReLU", {normalised.Constant("Add", scaled, 35, 0.5f)});
    normalised.Conv(clamped, 35, 70, 1);
    EXPECT_EQ(ExpectLikeNaive(normalised), band);
  }
  Builder wide(1, 1200, 28);  // a row takes more than a band
  wide.Conv(wide.Simple("ReLU", {wide.Conv("x", 1200, 1200, 3, 1, 1200)}), 1200, 8, 1);
  ExpectKernels(ExpectLikeNaive(wide), band);
}

// A group that no kernel takes is cut behind its longest beginning that one does.
TEST(CpuNetwork, CutsAGroupThatIsAskedOtherwise) {
  Builder b(1, 32, 30);
  const std::string deep = b.Simple("ReLU", {b.Conv("x", 32, 32, 3, 1, 32)});
  b.Simple("ReLU", {b.Conv(deep, 32, 40, 1)});
  NetworkOptions options;
  options.kernels = {{"layer2", "convolution_blocked"}};
  Names kernels;
  RunOn(b.graph, kCpuDevice, options, &kernels);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1], On("convolution_blocked"));
  options.kernels = {{"layer2", "depthwise"}};
  const std::string error = CreateNetwork(b.graph, kCpuDevice, options).status().ToString();
  EXPECT_NE(error.find("layer2"), std::string::npos) << error;
  options.kernels = {{"layer1", "convolution_winograd"}};  // steps are named after their last layer
  const std::string refused = CreateNetwork(b.graph, kCpuDevice, options).status().ToString();
  EXPECT_NE(refused.find("refuses: convolution_winograd: needs stride 1"), std::string::npos) << refused;
}

TEST(CpuNetwork, JoinsClamps) {
  Builder b(1, 3, 9);
  b.Simple("ReLU6", {b.Simple("ReLU", {b.Conv("x", 3, 20, 3, 1, 1, kActivationReLU)})});
  const Names kernels = ExpectLikeNaive(b);
  ExpectKernels(kernels, {OfTaps(3, 1)});
}

// A map of one column is computed as one of one row: kernels of a row take it.
TEST(CpuNetwork, TakesAColumnAsARow) {
  for (const int kernel : {3, 5, 9}) {
    for (const int stride : {1, 2}) {
      Builder b(2, 40, 19);
      b.graph->inputs[0].shape = {2, 40, 19, 1};
      b.Simple("ReLU", {b.Conv("x", 40, 40, kernel, stride)});
      Layer& layer = b.graph->layers[0];
      auto param = std::make_shared<ConvolutionParam>(static_cast<const ConvolutionParam&>(*layer.param));
      param->kernel_w = param->stride_w = 1;
      layer.param = param;
      layer.resources["weight"] = Random({40, 40, kernel, 1}, 5, 0.2f);
      const bool winograd = stride == 1 && kernel < 9;
      const Names kernels = ExpectLikeNaive(b);
      EXPECT_EQ(kernels, (Names{winograd ? On("convolution_winograd") : OfTaps(40, stride)}));
    }
  }
}

TEST(CpuNetwork, PacksTheMatrixOfAMatMul) {
  const auto kernels = [](int64_t columns) {
    Builder b(2, 3, 32);
    b.Simple("MatMul", {"x"});
    Layer& layer = b.graph->layers[0];
    auto param = std::make_shared<MatMulParam>();
    param->weight_position = 1;
    layer.param = param;
    layer.resources["weight"] = Random({32, columns}, 5, 0.2f);
    return ExpectLikeNaive(b);
  };
  EXPECT_EQ(kernels(48), (Names{On("matmul_panel")}));
  EXPECT_EQ(kernels(20), (Names{On("matmul")}));
}

// One block of channels, and a map that is large: our own depthwise kernel, bias, scales and clamp fused.
TEST(CpuNetwork, RunsDepthwise) {
  for (const int channels : {5, 40}) {
    for (const int stride : {1, 2}) {
      Builder b(2, channels, channels == 5 ? 9 : 61);
      const std::string wide = b.Conv("x", channels, channels, 3, stride, channels);
      b.Simple("ReLU6", {b.Constant("Mul", b.Constant("Add", wide, channels, 1), channels, 2)});
      const auto kernels = ExpectLikeNaive(b);
      const bool own = channels == 5 || !cpu::ProductsLeadDepthwise(stride == 1 ? 61 * 61 : 31 * 31);
      EXPECT_EQ(kernels, (Names{own ? On("depthwise") : On("convolution_blocked")}));
    }
  }
}

// As in densely connected networks: nested concatenations, each read by a scaled branch too.
TEST(CpuNetwork, ConcatenatesInPlace) {
  for (const int growth : {16, 12}) {  // 12 channels do not fill a block: copied
    for (const int64_t batch : {1, 2}) {
      Builder b(batch, 3, 8);
      std::string all = b.Conv("x", 3, 2 * growth, 3);
      int channels = 2 * growth;
      for (int i = 0; i < 3; ++i, channels += growth) {
        const std::string scaled = b.Constant("Add", b.Constant("Mul", all, channels, 1.5f), channels, 0.5f);
        all = b.Simple("Concat", {all, b.Conv(b.Simple("ReLU", {scaled}), channels, growth, 3)});
      }
      b.Pool(all, kPoolAverage, 0, 1);
      ExpectLikeNaive(b);
    }
  }
}

TEST(CpuNetwork, Classifies) {
  Builder b(2, 3, 16);
  const std::string wide = b.Conv(b.Conv("x", 3, 24, 3, 2, 1, kActivationReLU), 24, 24, 3, 1, 24, kActivationReLU6);
  const std::string pooled = b.Pool(b.Conv(wide, 24, 37, 1), kPoolAverage, 0, 1);
  b.Simple("Softmax", {b.Simple("ReLU", {b.FullyConnected(pooled, 37, 101)})});
  const std::string depthwise = On(cpu::ProductsLeadDepthwise(8 * 8) ? "convolution_blocked" : "depthwise");
  const Names kernels = ExpectLikeNaive(b);
  ExpectKernels(kernels, {OfTaps(3, 2), depthwise, OfPoints(8), On("pooling"), On("inner_product"), On("softmax")});
}

TEST(CpuNetwork, MixesLayouts) {
  Builder b(1, 6, 9);
  const std::string grouped = b.Conv("x", 6, 12, 3, 1, 3);  // groups cut blocks: plain
  const std::string blocked = b.Conv(grouped, 12, 20, 3);
  b.Simple("Concat",
           {blocked, grouped, b.Simple("Add", {b.Conv(grouped, 12, 20, 1), b.Pool(blocked, kPoolMax, 3, 1)})});
  ExpectLikeNaive(b);
}

// The convolution reads the blob that is added: it must not be overwritten.
TEST(CpuNetwork, AddsItsOwnInput) {
  Builder b(1, 16, 9);
  const std::string stem = b.Conv("x", 16, 16, 1);
  b.Simple("ReLU", {b.Simple("Add", {stem, b.Conv(stem, 16, 16, 3)})});
  ExpectLikeNaive(b);
}

}  // namespace
}  // namespace plumb
