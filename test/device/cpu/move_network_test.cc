// SPDX-License-Identifier: Apache-2.0
// Operators that move or resize elements between two convolutions: there the maps arrive in channel blocks (op_test
// feeds plain ones), with channel counts that do and do not fill the last block.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cpu_name.h"
#include "op/convolution.h"
#include "op/pad.h"
#include "op/permute.h"
#include "op/upsample.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

Tensor Random(const Shape& shape, uint32_t seed) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::mt19937 engine(seed);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(engine() >> 8) / 8388608.0f - 1;
  }
  return tensor;
}

Layer MakeLayer(const char* type, int index, std::shared_ptr<OpParam> param) {
  Layer layer;
  layer.kind = FindOp(type)->kind;
  layer.type = type;
  layer.index = index;
  layer.name = "layer" + std::to_string(index);
  layer.inputs = {index == 0 ? "x" : "blob" + std::to_string(index - 1)};
  layer.outputs = {"blob" + std::to_string(index)};
  layer.param = std::move(param);
  return layer;
}

Layer Conv(int index, int from, int to) {
  auto p = std::make_shared<ConvolutionParam>();
  p->in_channels_per_group = from, p->out_channels = to, p->kernel_h = p->kernel_w = 1;
  p->group = p->stride_h = p->stride_w = 1, p->pad_type = kPadSame;
  Layer layer = MakeLayer("Convolution", index, p);
  layer.resources["weight"] = Random({to, from, 1, 1}, static_cast<uint32_t>(index));
  return layer;
}

// x -> 1x1 convolution to `channels` -> the operator -> 1x1 convolution (or the output).
std::shared_ptr<Graph> Between(int channels, const char* type, std::shared_ptr<OpParam> param, int channels_behind) {
  auto graph = std::make_shared<Graph>();
  graph->source = "test";
  graph->inputs = {{"x", DType::kF32, {2, 3, 9, 7}}};
  graph->layers = {Conv(0, 3, channels), MakeLayer(type, 1, std::move(param))};
  if (channels_behind > 0) graph->layers.push_back(Conv(2, channels_behind, 21));
  graph->outputs = graph->layers.back().outputs;
  return graph;
}

Tensor RunOn(const std::shared_ptr<Graph>& graph, const std::string& device) {
  auto network = CreateNetwork(graph, device, {});
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return {};
  EXPECT_TRUE((*network)->SetInput("x", Random(graph->inputs[0].shape, 7)).ok());
  EXPECT_TRUE((*network)->Forward().ok());
  return (*network)->GetOutput(graph->outputs[0]).value();
}

void ExpectLikeNaive(const char* type, const std::shared_ptr<OpParam>& param, int added_channels = 0) {
  for (const int channels : {5, 16, 40}) {
    for (const bool convolution_behind : {true, false}) {
      SCOPED_TRACE(std::string(type) + " of " + std::to_string(channels) + " channels");
      const auto graph = Between(channels, type, param, convolution_behind ? channels + added_channels : 0);
      const Tensor want = RunOn(graph, "NAIVE"), got = RunOn(graph, kCpuDevice);
      ASSERT_EQ(got.shape().ToString(), want.shape().ToString());
      for (int64_t i = 0; i < want.NumElements(); ++i) {
        ASSERT_NEAR(got.ValueAt(i), want.ValueAt(i), 1e-5) << "element " << i;
      }
    }
  }
}

std::shared_ptr<UpsampleParam> Upsampled(int mode, int align_corners, int out_h, int out_w) {
  auto p = std::make_shared<UpsampleParam>();
  p->mode = mode, p->align_corners = align_corners, p->out_h = out_h, p->out_w = out_w;
  return p;
}

TEST(CpuMoves, UpsampleKeepsBlocks) {
  for (const int mode : {1, 2, 3}) {
    for (const int align_corners : {0, 1}) {
      ExpectLikeNaive("Upsample", Upsampled(mode, align_corners, 18, 14));
      ExpectLikeNaive("Upsample", Upsampled(mode, align_corners, 5, 11));
    }
  }
}

TEST(CpuMoves, PadKeepsBlocksUnlessChannelsArePadded) {
  for (const int type : {0, 1, 2}) {
    for (const int channels : {0, 2}) {
      auto p = std::make_shared<PadParam>();
      p->top = 2, p->bottom = 1, p->left = 3, p->right = -1, p->type = type, p->value = 0.75f;
      p->channel_begin = channels;
      ExpectLikeNaive("Pad", p, channels);
    }
  }
}

TEST(CpuMoves, PermuteTakesBlocks) {
  auto p = std::make_shared<PermuteParam>();
  p->orders = {0, 1, 3, 2};
  ExpectLikeNaive("Permute", p);
}

}  // namespace
}  // namespace plumb
